"""Owners, takeovers, fenced journals and leases on a real ZooKeeper, with sessions that end."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.coord.wires import Wire

from regraft.coord import Coord, Corrupt, Layout
from regraft.heal.fenced_journal import BUCKETS, Deposed, FencedJournal, bucket_of
from regraft.heal.owner import NotTaken, Owner, Why
from regraft.heal.ownership import Places, all_owners, look, take
from regraft.heal.session_lease import SHARE, SessionLease


@pytest.fixture
def own_root(root: str) -> Layout:
    return Layout(root)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await scenario

    asyncio.run(limited())


async def taken(
    coord: Coord, layout: Layout, why: Why = Why.VACANT, *, empty: bool = False, **claim: Any
) -> FencedJournal:
    """Broker b, whatever it takes."""
    seen = await look(coord, layout, "b")
    found = await take(coord, layout, "b", Owner(life=0, **claim), seen, why, empty=empty)
    assert isinstance(found, FencedJournal), found
    return found


def test_what_was_reported_durable_is_seen_by_the_next_owner(hosts: str, own_root: Layout) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as one, await Coord.connect(hosts) as other:
            first = await taken(one, own_root, port=1)
            first.append([("session/c", b"1"), ("neighbours", b"x"), ("session/d", b"2")])
            await first.sync()
            first.append([("session/d", None), ("session/e", b"3")])
            await first.sync()
            first.append([("session/f", b"never synchronised")])
            second = await taken(other, own_root, Why.PROCESS_GONE, by="l", port=2)
            assert second.values == {"session/c": b"1", "neighbours": b"x", "session/e": b"3"}
            assert (first.life, second.life) == (1, 2)
            owner = (await all_owners(other, own_root))["b"].value
            assert (owner.by, owner.port, owner.life) == ("l", 2, 2)

    run(scenario())


def test_a_deposed_owner_can_write_nothing(hosts: str, own_root: Layout) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as one, await Coord.connect(hosts) as other:
            first = await taken(one, own_root)
            second = await taken(other, own_root, Why.PROCESS_GONE)
            first.append([("session/c", b"late")])
            for _ in range(2):
                with pytest.raises(Deposed):
                    await first.sync()
            second.append([("session/c", b"right")])
            await second.sync()
            seen = await look(other, own_root, "b")
            assert [node.data for node in seen.buckets if node is not None and node.data]
            assert (await taken(other, own_root)).values == {"session/c": b"right"}

    run(scenario())


def test_a_living_broker_is_not_taken_over_unless_its_process_is_gone(hosts: str, own_root: Layout) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as one, await Coord.connect(hosts) as other:
            await taken(one, own_root)
            seen = await look(other, own_root, "b")
            assert isinstance(await take(other, own_root, "b", Owner(life=0), seen, Why.VACANT), NotTaken)
            assert (await all_owners(other, own_root))["b"].value.life == 1

    run(scenario())


def test_of_two_takeovers_at_once_one_succeeds(hosts: str, own_root: Layout) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as one, await Coord.connect(hosts) as other:
            await taken(one, own_root)
            seen = await look(other, own_root, "b")
            both = await asyncio.gather(
                *[
                    take(coord, own_root, "b", Owner(life=0, by=by), seen, Why.PROCESS_GONE)
                    for coord, by in ((one, "x"), (other, "y"))
                ]
            )
            assert sorted(isinstance(each, NotTaken) for each in both) == [False, True]
            assert (await all_owners(one, own_root))["b"].value.life == 2

    run(scenario())


def test_a_broker_that_came_back_in_a_new_session_is_not_taken_over(hosts: str, own_root: Layout) -> None:
    """Its presence was gone when the other looked; it is there again when the other acts."""

    async def scenario() -> None:
        async with await Coord.connect(hosts) as one, await Coord.connect(hosts) as other:
            await taken(one, own_root)
            alive = Places(own_root, "b").alive
            await one.delete(alive)
            seen = await look(other, own_root, "b")
            assert seen.alive is None
            await one.create(alive, ephemeral=True)
            assert isinstance(await take(other, own_root, "b", Owner(life=0), seen, Why.VACANT), NotTaken)
            assert (await all_owners(other, own_root))["b"].value.life == 1

    run(scenario())


def test_what_was_written_between_looking_and_taking_is_not_missed(hosts: str, own_root: Layout) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as one, await Coord.connect(hosts) as other:
            first = await taken(one, own_root)
            seen = await look(other, own_root, "b")
            first.append([("session/c", b"1")])
            await first.sync()
            late = await take(other, own_root, "b", Owner(life=0), seen, Why.PROCESS_GONE)
            assert isinstance(late, NotTaken)
            assert (await taken(other, own_root, Why.PROCESS_GONE)).values == {"session/c": b"1"}

    run(scenario())


def test_a_newcomer_begins_empty(hosts: str, own_root: Layout) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as one:
            first = await taken(one, own_root)
            first.append([("session/c", b"1"), ("neighbours", b"x")])
            await first.sync()
            second = await taken(one, own_root, empty=True)
            assert second.values == {}
            second.append([("neighbours", b"y")])
            await second.sync()
            third = await taken(one, own_root)
            assert (third.values, third.life) == ({"neighbours": b"y"}, 3)

    run(scenario())


def test_many_changes_at_once_are_few_transactions_and_none_is_too_large(
    hosts: str, own_root: Layout
) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as one:
            journal = await taken(one, own_root)
            writes = 0
            transaction = one.transaction

            async def counted(*arguments: Any, **more: Any) -> Any:
                nonlocal writes
                writes += 1
                return await transaction(*arguments, **more)

            one.transaction = counted  # type: ignore[method-assign]
            large = {f"session/{n}": bytes(1000) for n in range(3000)}
            waiting: list[asyncio.Task[None]] = []
            for key, value in large.items():
                journal.append([(key, value)])
                if len(waiting) < 50:
                    waiting.append(asyncio.create_task(journal.sync()))
                    await asyncio.sleep(0)
            await asyncio.gather(*waiting, journal.sync())
            assert writes < 20
            assert (await taken(one, own_root)).values == large

    run(scenario())


def test_a_write_whose_answer_was_lost_is_found_out(hosts: str, own_root: Layout) -> None:
    async def scenario() -> None:
        async with (
            Wire(hosts) as wire,
            await Coord.connect(wire.hosts, timeout=1.0) as one,
            await Coord.connect(hosts) as other,
        ):
            journal = await taken(one, own_root)
            wire.loses_answers = True
            journal.append([("session/c", b"1")])
            writing = asyncio.create_task(journal.sync())
            await wire.lost_answer.wait()
            await asyncio.sleep(1.2)  # the call's own limit is over
            wire.cut()
            await writing
            journal.append([("session/d", b"2")])
            await journal.sync()
            found = await taken(other, own_root, Why.PROCESS_GONE)
            assert found.values == {"session/c": b"1", "session/d": b"2"}

    run(scenario())


def test_the_lease_ends_before_the_session_does(hosts: str, own_root: Layout) -> None:
    async def scenario() -> None:
        async with (
            Wire(hosts) as wire,
            await Coord.connect(wire.hosts, session_timeout=1.5) as one,
            await Coord.connect(hosts) as other,
        ):
            journal = await taken(one, own_root)
            places = Places(own_root, "b")
            until: list[float] = []
            prolonged = asyncio.Event()

            def prolong(moment: float) -> None:
                until.append(moment)
                prolonged.set()

            lease = asyncio.create_task(SessionLease(one, places.alive, journal.fence, prolong).keep())
            await prolonged.wait()
            assert time.monotonic() < until[-1] <= time.monotonic() + SHARE * 1.5
            wire.refuses = True
            wire.cut()
            while await other.get(places.alive) is not None:
                await asyncio.sleep(0.01)
            assert time.monotonic() > max(until), "the session has ended, and the lease has not"
            # Back in a new session: no lease before the presence is ours again.
            count = len(until)
            wire.refuses = False
            while one.session_id is None or await one.get(places.alive) is not None:
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.2)
            assert len(until) == count
            await one.create(places.alive, ephemeral=True)
            prolonged.clear()
            await prolonged.wait()
            # And none any more when another has taken over.
            await taken(other, own_root, Why.PROCESS_GONE)
            assert "another" in await lease

    run(scenario())


def test_garbage_in_a_bucket_is_reported(hosts: str, own_root: Layout) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as one:
            await taken(one, own_root)
            path = Places(own_root, "b").buckets[3]
            await one.set(path, b"\xc1 garbage", -1)
            with pytest.raises(Corrupt, match="journal"):
                await taken(one, own_root)

    run(scenario())


@given(st.text(min_size=1))
def test_links_and_changes_are_kept_together(name: str) -> None:
    assert 1 <= bucket_of(f"session/{name}") < BUCKETS
    assert bucket_of("neighbours") == bucket_of(f"change/{name}") == 0
