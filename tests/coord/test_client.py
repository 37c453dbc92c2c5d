"""`Coord` against a real server: what each call gives, and the faults that it raises."""

import asyncio

import pytest
from tests.coord.wires import finish

from regraft.coord import (
    Check,
    Conflict,
    ConnectionState,
    Coord,
    Create,
    Delete,
    Exists,
    Missing,
    Node,
    Set,
    TooLarge,
)
from regraft.model import BadInput


def test_a_node_is_created_read_written_and_deleted(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            assert await coord.get(f"{root}/a") is None
            assert await coord.create(f"{root}/a", b"one") == f"{root}/a"
            first = await coord.get(f"{root}/a")
            assert first is not None
            assert (first.data, first.version, first.ephemeral_owner) == (b"one", 0, 0)
            second = await coord.set(f"{root}/a", b"two", 0)
            assert second == await coord.get(f"{root}/a")
            assert (second.data, second.version, second.czxid) == (b"two", 1, first.czxid)
            assert second.mzxid > first.mzxid
            assert await coord.delete(f"{root}/a", 1)
            assert not await coord.delete(f"{root}/a")

    finish(scenario())


def test_what_is_not_as_supposed_is_a_conflict_that_names_the_node(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            await coord.create(root, b"")
            with pytest.raises(Exists, match=root):
                await coord.create(root, b"")
            with pytest.raises(Conflict, match=f"{root}: is no longer at version 7"):
                await coord.set(root, b"", 7)
            with pytest.raises(Conflict, match="version 7"):
                await coord.delete(root, 7)
            with pytest.raises(Missing, match=f"{root}/b: does not exist"):
                await coord.set(f"{root}/b", b"", 0)
            with pytest.raises(Missing, match=f"{root}/b: does not exist"):
                await coord.create(f"{root}/b/c", b"", parents=False)
            await coord.create(f"{root}/b/c", b"")
            with pytest.raises(Conflict, match="has children"):
                await coord.delete(f"{root}/b")
            await coord.create(f"{root}/short", b"", ephemeral=True)
            with pytest.raises(Conflict, match=f"{root}/short: is ephemeral"):
                await coord.create(f"{root}/short/below", b"")

    finish(scenario())


def test_a_folder_is_listed_in_order_and_deleted_with_all_below(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            assert await coord.children(root) == []
            for name in ("c", "a", "b/x/y"):
                await coord.create(f"{root}/{name}", b"")
            assert await coord.children(root) == ["a", "b", "c"]
            assert await coord.delete(root, recursive=True)
            assert await coord.get(root) is None
            assert not await coord.delete(root, recursive=True)

    finish(scenario())


def test_a_transaction_happens_as_a_whole_or_not_at_all(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            await coord.create(f"{root}/a", b"old")
            await coord.create(f"{root}/b", b"")
            path, node, nothing, checked = await coord.transaction(
                [
                    Create(f"{root}/c", b"c"),
                    Set(f"{root}/a", b"new", 0),
                    Delete(f"{root}/b"),
                    Check(f"{root}/a", 1),
                ]
            )
            assert (path, nothing, checked) == (f"{root}/c", None, None)
            assert isinstance(node, Node)
            assert (node.data, node.version) == (b"new", 1)
            with pytest.raises(Conflict, match=f"{root}/a: is no longer at version 0"):
                await coord.transaction([Create(f"{root}/d"), Check(f"{root}/a", 0), Delete(f"{root}/c")])
            assert await coord.children(root) == ["a", "c"]
            assert await coord.transaction([]) == []

    finish(scenario())


def test_sequential_nodes_are_numbered_in_the_order_of_their_creation(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            paths = [await coord.create(f"{root}/q-", b"", sequence=True) for _ in range(3)]
            assert [int(path[-10:]) for path in paths] == [0, 1, 2]
            assert len(await coord.children(root)) == 3

    finish(scenario())


def test_an_ephemeral_node_belongs_to_the_session_and_goes_with_it(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as other:
            async with await Coord.connect(hosts) as coord:
                await coord.create(f"{root}/alive", b"", ephemeral=True)
                node = await other.get(f"{root}/alive")
                assert node is not None
                assert node.ephemeral_owner == coord.session_id
            assert coord.state is ConnectionState.CLOSED
            await other.sync()
            assert await other.get(f"{root}/alive") is None

    finish(scenario())


def test_more_bytes_than_a_server_takes_are_refused_before_they_are_sent(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            await coord.create(root, bytes(999_000))
            with pytest.raises(TooLarge, match=f"{root}: 1000"):
                await coord.set(root, bytes(1_000_000), 0)
            with pytest.raises(TooLarge, match=f"{root}/b"):
                await coord.transaction(
                    [Create(f"{root}/a", bytes(400_000)), Create(f"{root}/b", bytes(700_000))]
                )
            node = await coord.get(root)
            assert node is not None
            assert (len(node.data), node.version) == (999_000, 0)

    finish(scenario())


def test_a_folder_of_the_ensemble_can_be_the_root_of_all_paths(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as outside:
            with pytest.raises(BadInput, match="does not exist there"):
                await Coord.connect(hosts + root)
            await outside.create(root, b"")
            async with await Coord.connect(hosts + root) as inside:
                assert await inside.create("/a/b", b"x") == "/a/b"
                assert await inside.create("/a/q-", b"", sequence=True) == (
                    "/a/" + (await inside.children("/a"))[1]
                )
                changes = inside.watch("/a/b")
                await anext(changes)
                node = await outside.set(f"{root}/a/b", b"y", 0)
                assert await anext(changes) == node

    finish(scenario())


def test_many_calls_at_once_are_all_answered(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            await coord.create(root, b"")
            await asyncio.gather(*[coord.create(f"{root}/{n}", b"%d" % n) for n in range(500)])
            nodes = await asyncio.gather(*[coord.get(f"{root}/{n}") for n in range(500)])
            assert [node and node.data for node in nodes] == [b"%d" % n for n in range(500)]

    finish(scenario())


def test_the_session_timeout_is_the_one_that_the_servers_grant(hosts: str) -> None:
    async def scenario() -> tuple[float, float]:
        async with (
            await Coord.connect(hosts, session_timeout=0.1) as short,
            await Coord.connect(hosts, session_timeout=7) as usual,
        ):
            return short.session_timeout, usual.session_timeout

    assert finish(scenario()) == pytest.approx((1.0, 7.0))
