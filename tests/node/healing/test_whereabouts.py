"""What an address and a presence say of a broker, on real sockets; and which owner counts."""

import asyncio
import socket
from typing import Any

import pytest

from regraft.coord import CoordUnreachable, Layout, Node
from regraft.heal.detection import Evidence
from regraft.heal.owner import Owner
from regraft.node.healing.whereabouts import Whereabouts, examine


class FakeCoord:
    """Knows of one presence, or of none, or cannot be reached."""

    def __init__(self, alive: bool | None) -> None:
        self.alive = alive

    async def get(self, path: str) -> Node | None:
        if self.alive is None:
            raise CoordUnreachable("", "away")
        return Node(b"", 0, 1, 1, 1) if self.alive else None


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@pytest.mark.parametrize(
    ("listens", "alive", "found"),
    [
        (True, True, Evidence.SILENT),
        (True, False, Evidence.GONE),
        (True, None, Evidence.SILENT),
        (False, True, Evidence.REFUSED),
        (False, False, Evidence.REFUSED),
    ],
)
def test_an_address_and_a_presence_are_examined(listens: bool, alive: bool | None, found: Evidence) -> None:
    async def scenario() -> Evidence:
        coord: Any = FakeCoord(alive)
        if not listens:
            return await examine(coord, Layout(), "b2", Owner(life=1, host="127.0.0.1", port=free_port()))
        async with await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            return await examine(coord, Layout(), "b2", Owner(life=1, host="127.0.0.1", port=port))

    assert asyncio.run(scenario()) is found


def test_an_unknown_name_is_not_reached() -> None:
    coord: Any = FakeCoord(alive=True)
    nowhere = Owner(life=1, host="no-such-host.invalid", port=1)
    assert asyncio.run(examine(coord, Layout(), "b2", nowhere)) is Evidence.UNREACHABLE


def test_the_later_owner_counts_and_its_address_is_dialled() -> None:
    nobody: Any = None
    whereabouts = Whereabouts(nobody, Layout(), lambda id, owner: None)
    assert whereabouts.manager("b2") is None
    assert whereabouts.learn("b2", Owner(life=2, host="h", port=7, heal_host="h", heal_port=8))
    assert not whereabouts.learn("b2", Owner(life=1, host="old", port=1))
    assert whereabouts.addresses == {"b2": ("h", 7)}
    assert whereabouts.manager("b2") == ("h", 8)
    assert whereabouts.learn("b2", Owner(life=3, host="h", port=9, heal_host="h", heal_port=8, by="b3"))
    assert whereabouts.addresses == {"b2": ("h", 9)}
    assert whereabouts.manager("b2") is None, "a deputy is no node"
