"""Leases: one holder at a time, in order of arrival, over several names without a deadlock."""

import asyncio
import math
import random

import pytest
from tests.coord.wires import Wire, expire, finish, until

from regraft.coord import (
    ConnectionState,
    Coord,
    CoordUnreachable,
    Corrupt,
    Create,
    Exists,
    Held,
    Lease,
    LeaseLost,
    Set,
    acquire,
)


async def taken(coord: Coord, paths: str | list[str], who: str, wait: float = 0) -> Lease:
    lease = await acquire(coord, paths, who, wait=wait)
    assert isinstance(lease, Lease), lease
    return lease


def is_held(lease: Lease) -> bool:
    """As a function, because a type checker assumes that a property does not change."""
    return lease.held


def test_the_second_is_told_who_holds_it(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as one, await Coord.connect(hosts) as two:
            lease = await taken(one, root, "the first")
            assert is_held(lease)
            assert await acquire(two, root, "the second") == Held(root, "the first")
            assert await acquire(two, root, "the second", wait=0.1) == Held(root, "the first")
            assert len(await one.children(root)) == 1
            await lease.release()
            assert not is_held(lease)
            assert not lease.lost.is_set()
            second = await taken(two, root, "the second")
            assert second.token > lease.token

    finish(scenario())


def test_contenders_get_the_lease_in_order_of_arrival(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            order = []

            async def work(n: int) -> None:
                async with await taken(coord, root, str(n), math.inf):
                    order.append(n)

            async with await taken(coord, root, "first"):
                tasks = []
                for n in range(5):
                    tasks.append(asyncio.create_task(work(n)))
                    while len(await coord.children(root)) < n + 2:
                        await asyncio.sleep(0.01)
            await asyncio.gather(*tasks)
            assert order == [0, 1, 2, 3, 4]
            assert await coord.children(root) == []

    finish(scenario())


def test_the_death_of_the_holder_hands_it_on(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as one, await Coord.connect(hosts) as two:
            lease = await taken(one, root, "one")
            waiting = asyncio.create_task(taken(two, root, "two", math.inf))
            await expire(one)
            await lease.lost.wait()
            second = await waiting
            assert second.token > lease.token
            with pytest.raises(LeaseLost):
                await lease.write([Create(f"{root}-late")])
            await lease.release()
            assert second.held

    finish(scenario())


def test_a_late_write_of_an_old_holder_does_not_happen(hosts: str, root: str) -> None:
    """The holder has not heard yet that it has lost the lease: the fence decides."""

    async def scenario() -> None:
        async with await Coord.connect(hosts) as one, await Coord.connect(hosts) as two:
            lease = await taken(one, root, "one")
            assert await lease.write([Create(f"{root}-journal", b"one")]) == [f"{root}-journal"]
            (place,) = await two.children(root)
            lease._end_guards()  # asleep
            await two.delete(f"{root}/{place}")
            second = await taken(two, root, "two")
            assert is_held(lease)
            with pytest.raises(LeaseLost):
                await lease.write([Set(f"{root}-journal", b"late", 0)])
            assert not is_held(lease)
            await second.write([Set(f"{root}-journal", b"two", 0)])
            with pytest.raises(Exists):
                await second.write([Create(f"{root}-journal")])

    finish(scenario())


def test_a_deleted_node_is_a_lost_lease(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            lease = await taken(coord, [f"{root}/a", f"{root}/b"], "me")
            (place,) = await coord.children(f"{root}/b")
            await coord.delete(f"{root}/b/{place}")
            await lease.lost.wait()

    finish(scenario())


def test_a_holder_without_a_connection_lets_go_before_the_session_can_expire(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with (
            await Coord.connect(hosts) as other,
            Wire(hosts) as wire,
            await Coord.connect(wire.hosts, session_timeout=4) as coord,
        ):
            lease = await taken(coord, root, "me")
            wire.cut()
            await until(coord, ConnectionState.SUSPENDED)
            await until(coord, ConnectionState.CONNECTED)
            assert lease.held
            wire.refuses = True
            wire.cut()
            await lease.lost.wait()
            assert await other.children(root) != []  # no other contender can have it yet

    finish(scenario())


def test_a_waiter_whose_session_expires_takes_a_place_again(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as one, await Coord.connect(hosts) as two:
            lease = await taken(one, root, "one")
            (first,) = await one.children(root)
            waiting = asyncio.create_task(taken(two, root, "two", math.inf))
            while f"{root}/{first}" not in two._watches._waiting:
                await asyncio.sleep(0.01)
            await expire(two)
            while len(await one.children(root)) < 2:
                await asyncio.sleep(0.01)
            await lease.release()
            assert (await waiting).held

    finish(scenario())


def test_a_cancelled_contender_leaves_no_place_behind(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord, await taken(coord, root, "one"):
            waiting = asyncio.create_task(acquire(coord, root, "two", wait=math.inf))
            while len(await coord.children(root)) < 2:
                await asyncio.sleep(0.01)
            waiting.cancel()
            await asyncio.wait([waiting])
            while len(await coord.children(root)) > 1:
                await asyncio.sleep(0.01)

    finish(scenario())


def test_a_place_whose_creation_was_not_answered_is_given_back_later(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with (
            await Coord.connect(hosts) as other,
            Wire(hosts) as wire,
            await Coord.connect(wire.hosts, timeout=0.5) as coord,
        ):
            await coord.ensure(root)
            await coord.children(root)
            asking = asyncio.create_task(acquire(coord, root, "me", wait=5))
            await asyncio.sleep(0)
            wire.loses_answers = True
            with pytest.raises(CoordUnreachable):
                await asking
            assert len(await other.children(root)) == 1
            wire.cut()
            while await other.children(root):
                await asyncio.sleep(0.01)

    finish(scenario())


def test_a_release_does_not_wait_for_an_ensemble_that_cannot_be_reached(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with (
            await Coord.connect(hosts) as other,
            Wire(hosts) as wire,
            await Coord.connect(wire.hosts, timeout=0.3) as coord,
        ):
            lease = await taken(coord, root, "me")
            wire.refuses = True
            wire.cut()
            await until(coord, ConnectionState.SUSPENDED)
            await lease.release()
            assert len(await other.children(root)) == 1
            wire.refuses = False
            while await other.children(root):
                await asyncio.sleep(0.01)

    finish(scenario())


def test_no_answer_within_the_wait_is_a_fault_and_not_a_lease(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with Wire(hosts) as wire, await Coord.connect(wire.hosts) as coord:
            wire.loses_answers = True
            with pytest.raises(CoordUnreachable, match="no place in the queue within"):
                await acquire(coord, root, "me", wait=0.2)
            wire.cut()

    finish(scenario())


def test_several_names_are_taken_together_or_not_at_all(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as one, await Coord.connect(hosts) as two:
            a, b, c = (f"{root}/{name}" for name in "abc")
            lease = await taken(one, [b, a], "one")
            assert await acquire(two, [c, b], "two") == Held(b, "one")
            assert await two.children(c) == []
            async with await taken(two, c, "two"):
                pass
            await lease.release()
            async with await taken(two, [c, b], "two"):
                assert await acquire(one, b, "one") == Held(b, "two")

    finish(scenario())


def test_many_contenders_for_overlapping_names_all_get_their_turn_alone(hosts: str, root: str) -> None:
    choice = random.Random(4)
    wanted = [choice.sample("abcde", choice.randint(1, 4)) for _ in range(30)]

    async def scenario() -> None:
        clients = [await Coord.connect(hosts) for _ in range(3)]
        busy: set[str] = set()
        turns = []

        async def work(n: int, names: list[str]) -> None:
            coord = clients[n % len(clients)]
            async with await taken(coord, [f"{root}/{name}" for name in names], str(n), math.inf):
                assert not busy & set(names)
                busy.update(names)
                await asyncio.sleep(0.001)
                busy.difference_update(names)
                turns.append(n)

        await asyncio.gather(*[work(n, names) for n, names in enumerate(wanted)])
        assert sorted(turns) == list(range(len(wanted)))
        await asyncio.gather(*[client.stop() for client in clients])

    finish(scenario())


def test_a_node_that_is_not_a_place_in_a_queue_is_reported(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            await coord.create(f"{root}/garbage", b"")
            with pytest.raises(
                Corrupt, match=f"{root}/garbage: is not a place in a queue; to repair: regraft znode"
            ):
                await acquire(coord, root, "me")
            with pytest.raises(Corrupt):
                await acquire(coord, root, "me", wait=1)
            while len(await coord.children(root)) > 1:
                await asyncio.sleep(0.01)

    finish(scenario())
