"""A write whose answer is lost: reading again tells whether it happened, or it is unknown. Never twice."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from tests.coord.wires import Wire, finish

from regraft.coord import (
    Check,
    Conflict,
    Coord,
    CoordUnreachable,
    Create,
    Delete,
    Exists,
    Operation,
    Set,
    Unknown,
)

T = TypeVar("T")


async def with_lost_answer(wire: Wire, call: Awaitable[T]) -> T:
    """The server does it; then the connection breaks before the answer has arrived."""
    wire.loses_answers = True
    task = asyncio.ensure_future(call)
    await wire.lost_answer.wait()
    wire.cut()
    return await task


async def with_lost_request(wire: Wire, call: Awaitable[T], meanwhile: Callable[[], Awaitable[object]]) -> T:
    """The server never hears of it; before the client can ask again, something else happens."""
    wire.loses_requests = True
    task = asyncio.ensure_future(call)
    await wire.lost_request.wait()
    await meanwhile()
    wire.cut()
    return await task


def test_a_write_that_happened_gives_its_answer_though_it_was_lost(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with Wire(hosts) as wire, await Coord.connect(wire.hosts) as coord:
            await coord.create(root, b"0")
            node = await with_lost_answer(wire, coord.set(root, b"1", 0))
            assert (node.data, node.version) == (b"1", 1)
            assert node == await coord.get(root)

    finish(scenario())


def test_a_creation_that_happened_is_not_taken_for_that_of_another(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with Wire(hosts) as wire, await Coord.connect(wire.hosts) as coord:
            assert await with_lost_answer(wire, coord.create(root, b"mine")) == root
            alive = await with_lost_answer(wire, coord.create(f"{root}/alive", b"", ephemeral=True))
            node = await coord.get(alive)
            assert node is not None
            assert node.ephemeral_owner == coord.session_id

    finish(scenario())


def test_a_sequential_node_is_created_once(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with Wire(hosts) as wire, await Coord.connect(wire.hosts) as coord:
            await coord.create(root, b"")
            path = await with_lost_answer(wire, coord.create(f"{root}/q-", b"x", sequence=True))
            assert await coord.children(root) == [path.rpartition("/")[2]]
            again = await with_lost_request(
                wire, coord.create(f"{root}/q-", b"x", sequence=True), lambda: asyncio.sleep(0)
            )
            assert len(await coord.children(root)) == 2
            assert int(again[-10:]) == 1

    finish(scenario())


def test_a_transaction_that_happened_gives_all_its_results(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with Wire(hosts) as wire, await Coord.connect(wire.hosts) as coord:
            await coord.create(f"{root}/gone", b"")
            operations: list[Operation] = [
                Check(root, 0),
                Set(root, b"1", 0),
                Create(f"{root}/new"),
                Delete(f"{root}/gone"),
            ]
            results = await with_lost_answer(wire, coord.transaction(operations))
            assert results == [None, await coord.get(root), f"{root}/new", None]

    finish(scenario())


def test_a_deletion_that_happened_succeeds(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with Wire(hosts) as wire, await Coord.connect(wire.hosts) as coord:
            await coord.create(root, b"")
            assert await with_lost_answer(wire, coord.delete(root, 0))

    finish(scenario())


def test_a_write_that_never_arrived_is_sent_again(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with Wire(hosts) as wire, await Coord.connect(wire.hosts) as coord:
            await coord.create(root, b"0")
            node = await with_lost_request(wire, coord.set(root, b"1", 0), lambda: asyncio.sleep(0))
            assert (node.data, node.version) == (b"1", 1)

    finish(scenario())


def test_a_write_that_never_arrived_does_not_overwrite_another(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with (
            await Coord.connect(hosts) as other,
            Wire(hosts) as wire,
            await Coord.connect(wire.hosts) as coord,
        ):
            await coord.create(root, b"0")
            with pytest.raises(Conflict, match="no longer at version 0"):
                await with_lost_request(wire, coord.set(root, b"1", 0), lambda: other.set(root, b"theirs", 0))
            with pytest.raises(Exists):
                await with_lost_request(
                    wire, coord.create(f"{root}/a", b"mine"), lambda: other.create(f"{root}/a", b"theirs")
                )
            with pytest.raises(Exists):
                await with_lost_request(
                    wire,
                    coord.create(f"{root}/e", b"", ephemeral=True),
                    lambda: other.create(f"{root}/e", b"", ephemeral=True),
                )
            node = await coord.get(root)
            assert node is not None
            assert node.data == b"theirs"

    finish(scenario())


def test_a_write_that_was_overwritten_since_is_unknown(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with (
            await Coord.connect(hosts) as other,
            Wire(hosts) as wire,
            await Coord.connect(wire.hosts) as coord,
        ):
            await coord.create(root, b"0")

            async def twice() -> None:
                await other.set(root, b"theirs", 0)
                await other.set(root, b"theirs again", 1)

            with pytest.raises(Unknown, match="may or may not have happened"):
                await with_lost_request(wire, coord.set(root, b"1", 0), twice)

    finish(scenario())


def test_a_write_without_an_answer_within_the_time_limit_is_unknown(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with Wire(hosts) as wire, await Coord.connect(wire.hosts, timeout=0.5) as coord:
            await coord.create(root, b"0")
            wire.loses_answers = True
            with pytest.raises(Unknown):
                await coord.set(root, b"1", 0)
            with pytest.raises(CoordUnreachable) as fault:
                await coord.get(root)
            assert not isinstance(fault.value, Unknown)
            wire.cut()

    finish(scenario())


def test_a_write_that_was_sent_is_unknown_while_the_ensemble_cannot_be_reached(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with Wire(hosts) as wire, await Coord.connect(wire.hosts, timeout=1) as coord:
            await coord.create(root, b"0")
            wire.refuses = True
            with pytest.raises(Unknown):
                await with_lost_answer(wire, coord.set(root, b"1", 0))
            with pytest.raises(CoordUnreachable, match="no connection"):
                await coord.get(root)

    finish(scenario())


def test_a_write_that_was_never_sent_did_not_happen(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with (
            await Coord.connect(hosts) as other,
            Wire(hosts) as wire,
            await Coord.connect(wire.hosts, timeout=0.5) as coord,
        ):
            wire.refuses = True
            suspended = asyncio.Event()
            coord.on_state(lambda change: suspended.set())
            wire.cut()
            await suspended.wait()
            with pytest.raises(CoordUnreachable) as fault:
                await coord.create(root, b"")
            assert not isinstance(fault.value, Unknown)
            assert await other.get(root) is None

    finish(scenario())
