"""Watches never miss the last value: through quick changes, broken connections and expired sessions."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, TypeVar

from tests.coord.wires import Wire, expire, finish, until

from regraft.coord import ConnectionState, Coord, Node

T = TypeVar("T")


async def until_data(changes: AsyncIterator[Node | None], data: bytes | None) -> list[bytes | None]:
    """All values up to `data`."""
    seen = []
    async for node in changes:
        seen.append(None if node is None else node.data)
        if seen[-1] == data:
            return seen
    raise AssertionError(f"the watch ended after {seen}")


def test_a_watch_shows_creation_change_and_deletion(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            changes = coord.watch(root)
            assert await anext(changes) is None
            await coord.create(root, b"1")
            assert await until_data(changes, b"1") == [b"1"]
            await coord.set(root, b"2", 0)
            assert await until_data(changes, b"2") == [b"2"]
            await coord.delete(root)
            assert await until_data(changes, None) == [None]
            await coord.create(root, b"1")
            assert await until_data(changes, b"1") == [b"1"]

    finish(scenario())


def test_quick_changes_fall_together_and_the_last_is_seen_in_the_end(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord, await Coord.connect(hosts) as writer:
            await writer.create(root, b"0")
            changes = coord.watch(root)
            await anext(changes)

            async def write() -> None:
                for n in range(200):
                    await writer.set(root, b"%d" % (n + 1), n)

            writing = asyncio.create_task(write())
            numbers = [int(data or b"-1") for data in await until_data(changes, b"200")]
            assert numbers == sorted(set(numbers))
            await writing

    finish(scenario())


def test_a_reader_that_was_busy_meanwhile_sees_the_last_value(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            await coord.create(root, b"0")
            changes = coord.watch(root)
            await anext(changes)
            for n in range(5):
                await coord.set(root, b"%d" % (n + 1), n)
            assert await until_data(changes, b"5") == [b"5"]

    finish(scenario())


def test_what_changes_while_the_connection_is_broken_is_seen_afterwards(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with (
            await Coord.connect(hosts) as other,
            Wire(hosts) as wire,
            await Coord.connect(wire.hosts, timeout=0.2) as coord,
        ):
            await other.create(root, b"0")
            changes = coord.watch(root)
            await anext(changes)
            wire.refuses = True
            wire.cut()
            await until(coord, ConnectionState.SUSPENDED)
            waiting = asyncio.create_task(until_data(changes, b"1"))
            await asyncio.sleep(0.5)  # longer than the time limit of a read: the watch outlasts it
            await other.set(root, b"1", 0)
            wire.refuses = False
            assert await waiting == [b"1"]
            await other.set(root, b"2", 1)
            assert await until_data(changes, b"2") == [b"2"]

    finish(scenario())


def test_a_reconnection_without_a_change_hands_out_nothing(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with Wire(hosts) as wire, await Coord.connect(wire.hosts) as coord:
            await coord.create(root, b"0")
            changes = coord.watch(root)
            await anext(changes)
            waiting = asyncio.create_task(until_data(changes, b"1"))
            for _ in range(2):
                reads = Reads(coord)
                wire.cut()
                await until(coord, ConnectionState.SUSPENDED)
                await reads.more_than(0)
            await coord.set(root, b"1", 0)
            assert await waiting == [b"1"]

    finish(scenario())


def test_a_watch_on_which_nothing_happens_asks_nothing(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            await coord.create(root, b"0")
            changes = coord.watch(root)
            await anext(changes)
            waiting = asyncio.create_task(until_data(changes, b"2"))
            await coord.set(root, b"1", 0)
            await asyncio.sleep(0.1)
            reads = Reads(coord)
            for _ in range(20):
                await coord.get("/")
            assert reads.count == 20
            await coord.set(root, b"2", 1)
            await waiting

    finish(scenario())


class Reads:
    """Counts the answers to reads of data from now on."""

    def __init__(self, coord: Coord) -> None:
        self.count = 0
        self._counted = asyncio.Event()
        read = coord._requests.node

        async def counting(path: str, watch: Any = None) -> Node | None:
            node = await read(path, watch)
            self.count += 1
            self._counted.set()
            return node

        coord._requests.node = counting  # type: ignore[method-assign]

    async def more_than(self, count: int) -> None:
        while self.count <= count:
            await self._counted.wait()
            self._counted.clear()


def test_a_watch_continues_in_a_new_session(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord, await Coord.connect(hosts) as other:
            await coord.create(f"{root}/alive", b"me", ephemeral=True)
            alive, below = coord.watch(f"{root}/alive"), coord.watch_children(root)
            await anext(alive)
            assert await anext(below) == ["alive"]
            await expire(coord)
            assert await until_data(alive, None) == [None]
            assert await anext(below) == []
            await other.create(f"{root}/alive", b"again")
            assert await until_data(alive, b"again") == [b"again"]
            assert await anext(below) == ["alive"]

    finish(scenario())


def test_children_are_watched_from_before_their_folder_exists(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            names = coord.watch_children(root)
            assert await anext(names) == []
            await coord.create(root, b"")
            await coord.create(f"{root}/b", b"")
            assert await anext(names) == ["b"]
            await coord.create(f"{root}/a", b"")
            assert await anext(names) == ["a", "b"]
            await coord.delete(root, recursive=True)
            async for now in names:
                if not now:
                    break

    finish(scenario())


def test_a_watch_that_is_left_leaves_nothing_behind(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            await coord.create(root, b"")
            for _ in range(50):
                changes = coord.watch(root)
                await anext(changes)
                await changes.aclose()  # type: ignore[attr-defined]
            assert coord._watches._waiting == {}
            assert len(coord._session._client._data_watchers[root]) == 1

    finish(scenario())


def test_stopping_ends_the_watches(hosts: str, root: str) -> None:
    async def scenario() -> None:
        coord = await Coord.connect(hosts)
        changes = coord.watch(root)
        await anext(changes)
        waiting = asyncio.create_task(_rest(changes))
        await asyncio.sleep(0)
        await coord.stop()
        assert await waiting == []

    finish(scenario())


async def _rest(values: AsyncIterator[T]) -> list[T]:
    return [value async for value in values]
