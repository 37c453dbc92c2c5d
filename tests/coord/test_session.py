"""States of the connection, expiry, and an ensemble that cannot be reached: one line, within the limit."""

import asyncio
import socket
import threading

import pytest
from tests.coord.wires import Wire, expire, finish, until

from regraft.coord import Configuration, ConnectionChange, ConnectionState, Coord, CoordUnreachable
from regraft.model import BadInput


def test_the_client_reconnects_in_the_same_session(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with Wire(hosts) as wire, await Coord.connect(wire.hosts) as coord:
            changes: list[ConnectionChange] = []
            forget = coord.on_state(changes.append)
            await coord.create(f"{root}/alive", b"", ephemeral=True)
            wire.cut()
            await until(coord, ConnectionState.SUSPENDED)
            await until(coord, ConnectionState.CONNECTED)
            session = coord.session_id
            assert changes == [
                ConnectionChange(ConnectionState.SUSPENDED, session, False),
                ConnectionChange(ConnectionState.CONNECTED, session, False),
            ]
            assert await coord.get(f"{root}/alive") is not None
            forget()
        assert len(changes) == 2

    finish(scenario())


def test_an_expired_session_is_followed_by_a_new_one_without_the_old_nodes(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            changes: list[ConnectionChange] = []
            coord.on_state(changes.append)
            await coord.create(f"{root}/alive", b"", ephemeral=True)
            await expire(coord)
            assert ConnectionState.LOST in [change.state for change in changes]
            assert changes[-1] == ConnectionChange(ConnectionState.CONNECTED, coord.session_id, True)
            assert await coord.get(f"{root}/alive") is None
            await coord.create(f"{root}/alive", b"", ephemeral=True)

    finish(scenario())


def test_the_client_does_not_give_up_at_an_answer_that_it_cannot_read(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with Wire(hosts) as wire, await Coord.connect(wire.hosts) as coord:
            await coord.create(root, b"")
            lost = asyncio.Event()
            coord.on_state(
                lambda change: lost.set() if change.state is not ConnectionState.CONNECTED else None
            )
            wire._writers[0].write(b"\x00\x00\x00\x02no")  # no header fits into this
            await lost.wait()
            assert await coord.get(root) is not None

    finish(scenario())


def test_no_server_listens(root: str) -> None:
    with socket.socket() as taken:  # bound, so that no other process listens there
        taken.bind(("127.0.0.1", 0))
        hosts = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(CoordUnreachable) as fault:
            finish(Coord.connect(hosts, timeout=0.5))
    expected = f"ZooKeeper at {hosts} is not reachable: no connection within 0.5 s (Connection refused)"
    assert str(fault.value) == expected


def test_a_server_listens_and_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        hosts = f"127.0.0.1:{mute.getsockname()[1]}"
        with pytest.raises(CoordUnreachable, match=f"ZooKeeper at {hosts} is not reachable: no connection"):
            finish(Coord.connect(hosts, timeout=0.5))


def test_a_host_without_an_address() -> None:
    with pytest.raises(CoordUnreachable, match="no connection within"):
        finish(Coord.connect("no-such-host.invalid:2181", timeout=0.5))


def test_nothing_is_left_running_after_a_failed_connection() -> None:
    async def scenario() -> None:
        with pytest.raises(CoordUnreachable):
            await Coord.connect("127.0.0.1:1", timeout=0.3)
        while any("ZooKeeper" in thread.name for thread in threading.enumerate()):
            await asyncio.sleep(0.01)

    finish(scenario())


def test_calls_after_the_end_say_that_it_is_over(hosts: str, root: str) -> None:
    async def scenario() -> None:
        coord = await Coord.connect(hosts)
        await coord.stop()
        await coord.stop()
        with pytest.raises(CoordUnreachable, match="the connection was closed"):
            await coord.get(root)
        with pytest.raises(CoordUnreachable, match="the connection was closed"):
            await coord.create(root, b"")
        assert [node async for node in coord.watch(root)] == []

    finish(scenario())


@pytest.mark.parametrize(
    ("hosts", "rule"),
    [
        ("", "is not host:port"),
        ("a:b", "is not host:port"),
        ("a:1,,b:2", "is not host:port"),
        ("a:99999", "is not host:port"),
        ("a:0", "outside 1–65535"),
        ("a:,b:1", "outside 1–65535"),
    ],
)
def test_an_invalid_list_of_hosts_is_refused(hosts: str, rule: str) -> None:
    with pytest.raises(BadInput, match=rule):
        Configuration(hosts)


def test_the_first_request_of_a_session_is_a_sync(hosts: str, root: str) -> None:
    """A server that lags behind would otherwise show an old journal."""

    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            assert coord._requests._synced == coord.session_id
            await expire(coord)
            assert coord._requests._synced != coord.session_id
            await coord.get(root)
            assert coord._requests._synced == coord.session_id

    finish(scenario())
