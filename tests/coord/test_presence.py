"""A presence is created again in each session, waits for an earlier node, and ends with its owner."""

import asyncio

import pytest
from tests.coord.wires import Wire, expire, finish, until

from regraft.coord import ConnectionState, Coord, CoordUnreachable, Denied, Digest, Node, Presence


async def node_of(coord: Coord, path: str) -> Node:
    node = await coord.get(path)
    assert node is not None
    return node


def test_it_is_there_until_its_owner_leaves(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord, await Coord.connect(hosts) as other:
            async with Presence(coord, f"{root}/alive", b"me") as presence:
                await presence.established()
                node = await node_of(other, f"{root}/alive")
                assert (node.data, node.ephemeral_owner) == (b"me", coord.session_id)
            assert await other.get(f"{root}/alive") is None

    finish(scenario())


def test_it_comes_back_in_a_new_session_and_after_a_deletion(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with (
            await Coord.connect(hosts) as coord,
            await Coord.connect(hosts) as other,
            Presence(coord, root, b"") as presence,
        ):
            await presence.established()
            await expire(coord)
            await presence.established()
            assert (await node_of(other, root)).ephemeral_owner == coord.session_id
            await other.delete(root)
            while await other.get(root) is None:
                await asyncio.sleep(0.01)
            await presence.established()

    finish(scenario())


def test_it_comes_back_however_soon_it_is_deleted(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with (
            await Coord.connect(hosts) as coord,
            await Coord.connect(hosts) as other,
            Presence(coord, root, b""),
        ):
            for _ in range(30):  # now and then before the watch of its owner has seen it
                while await other.get(root) is None:
                    await asyncio.sleep(0)
                await other.delete(root)

    finish(scenario())


def test_a_broken_connection_is_doubt_and_not_absence(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with (
            Wire(hosts) as wire,
            await Coord.connect(wire.hosts) as coord,
            Presence(coord, root, b"") as presence,
        ):
            await presence.established()
            before = await node_of(coord, root)
            wire.cut()
            await until(coord, ConnectionState.SUSPENDED)
            assert not presence.here.is_set()
            await presence.established()
            assert await node_of(coord, root) == before

    finish(scenario())


def test_the_node_of_another_is_waited_for_or_replaced(hosts: str, root: str) -> None:
    async def scenario() -> None:
        ghost = await Coord.connect(hosts)
        async with await Coord.connect(hosts) as coord:
            await ghost.create(root, b"ghost", ephemeral=True)
            async with Presence(coord, root, b"patient") as presence:
                while root not in coord._watches._waiting:
                    await asyncio.sleep(0)
                await coord.sync()
                assert not presence.here.is_set()
                assert (await node_of(coord, root)).data == b"ghost"
                await ghost.stop()
                await presence.established()
            async with await Coord.connect(hosts) as second:
                await second.create(root, b"another ghost", ephemeral=True)
                async with Presence(coord, root, b"sure", replace=True) as presence:
                    await presence.established()
                    assert (await node_of(second, root)).data == b"sure"

    finish(scenario())


def test_a_node_that_may_never_be_created_is_a_fault(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts, auth=Digest("a", "b")) as theirs:
            await theirs.create(root, b"")
            async with await Coord.connect(hosts) as coord, Presence(coord, f"{root}/alive") as presence:
                with pytest.raises(Denied):
                    await presence.established()
            async with Presence(theirs, f"{root}/x") as presence:
                await theirs.stop()
                with pytest.raises(CoordUnreachable, match="closed"):
                    await presence.established()

    finish(scenario())
