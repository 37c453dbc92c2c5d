"""Servers of our own: they start, keep their data, survive each other, and end with their starter."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.coord.wires import finish

from regraft.coord import Coord, Ensemble, embedded, server_files
from regraft.coord.ports import free_ports, freed
from regraft.coord.server_files import Ports, ServerOptions, write_files
from regraft.coord.temporary import TemporaryFolder
from regraft.model import BadInput, RegraftError


def test_what_was_acknowledged_is_there_after_a_kill_and_a_restart(root: str) -> None:
    async def scenario() -> None:
        async with Ensemble() as servers, await Coord.connect(servers.hosts, timeout=30) as coord:
            assert await servers.nodes[0].mode() == "standalone"
            await coord.create(root, b"kept")
            servers.nodes[0].kill()
            assert not servers.nodes[0].running
            assert await servers.nodes[0].mode() is None
            await servers.restart(0)
            node = await coord.get(root)
            assert node is not None
            assert node.data == b"kept"

    finish(scenario())


def test_a_directory_keeps_the_data_from_run_to_run_and_belongs_to_one(tmp_path: Path, root: str) -> None:
    place = tmp_path / "a place = of its own"

    async def first() -> None:
        async with Ensemble(directory=place) as servers, await Coord.connect(servers.hosts) as coord:
            await coord.create(root, b"kept")
            with pytest.raises(BadInput, match="another ZooKeeper of Regraft's uses this directory"):
                await Ensemble(directory=place).start()
            assert await coord.get(root) is not None

    async def second() -> None:
        async with Ensemble(directory=place) as servers, await Coord.connect(servers.hosts) as coord:
            assert await coord.get(root) is not None

    finish(first())
    backup = tmp_path / "backup"  # what a stopped server has, brought back: docs/howto/backup.md
    place.rename(backup)
    shutil.copytree(backup, place)
    finish(second())
    with pytest.raises(BadInput, match="holds the data of 1 servers, not of 3"):
        finish(Ensemble(3, place).start())


@pytest.mark.slow
def test_the_leader_is_killed_under_writes_and_nothing_acknowledged_is_lost(root: str) -> None:
    count = 300

    async def write(coord: Coord, acknowledged: list[int]) -> None:
        node = await coord.get(f"{root}/counter")
        assert node is not None
        for n in range(1, count + 1):
            node = await coord.set(f"{root}/counter", b"%d" % n, node.version)
            await coord.create(f"{root}/{n}", b"")
            acknowledged.append(n)

    async def follow(coord: Coord) -> list[int]:
        seen = []
        async for node in coord.watch(f"{root}/counter"):
            seen.append(int(node.data) if node is not None else -1)
            if seen[-1] == count:
                return seen
        raise AssertionError("the watch ended")

    async def scenario() -> None:
        async with (
            Ensemble(nodes=3) as servers,
            await Coord.connect(servers.hosts, timeout=60) as writer,
            await Coord.connect(servers.hosts, timeout=60) as reader,
        ):
            assert sorted([str(await node.mode()) for node in servers.nodes]) == [
                *("follower", "follower", "leader")
            ]
            await writer.create(f"{root}/counter", b"0")
            acknowledged: list[int] = []
            writing = asyncio.create_task(write(writer, acknowledged))
            following = asyncio.create_task(follow(reader))
            while len(acknowledged) < count // 4:
                await asyncio.sleep(0.001)
            killed = await servers.leader()
            servers.nodes[killed].kill()
            assert await servers.leader() != killed
            await writing
            seen = await following
            assert seen == sorted(set(seen))
            await servers.restart(killed)
            node = await reader.get(f"{root}/counter")
            assert node is not None
            assert (node.data, node.version) == (b"%d" % count, count)  # each write happened once
            names = await reader.children(root)
            assert sorted(int(name) for name in names if name != "counter") == acknowledged

    finish(scenario(), 120)


def test_a_port_that_was_taken_meanwhile_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        right = free_ports(1)[0]
        offers = [[Ports(port, port, port)], [right]]
        monkeypatch.setattr(embedded, "free_ports", lambda servers: offers.pop(0))

        async def scenario() -> str:
            async with Ensemble() as servers:
                return servers.hosts

        assert finish(scenario()) == f"127.0.0.1:{right.client}"
    assert offers == []


def test_a_directory_keeps_the_ports_unless_another_program_has_taken_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> int:
        async with Ensemble(directory=tmp_path) as servers:
            return servers.nodes[0].port

    first = finish(run())
    assert finish(run()) == first
    monkeypatch.setattr(embedded, "FREED_SECONDS", 0.1)
    assert finish(freed([("127.0.0.1", first)], 20))
    with socket.create_server(("127.0.0.1", first)):
        other = finish(run())
    assert other != first
    assert "cannot use its ports of the last start" in caplog.text
    (tmp_path / embedded.PORTS).write_text("[5]")
    with pytest.raises(BadInput, match=r"ports.json: does not hold ports .* remove it to have new ones"):
        finish(run())


def test_a_server_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_files, "MAIN", "no.such.Main")
    monkeypatch.setattr(embedded, "ATTEMPTS", 1)
    with pytest.raises(RegraftError, match=r"ZooKeeper does not start: .*no\.such\.Main") as fault:
        finish(Ensemble().start())
    assert "\n" not in str(fault.value)


def test_without_java_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(RegraftError, match="apt-get install default-jre-headless") as fault:
        finish(Ensemble().start())
    assert "\n" not in str(fault.value)


def test_the_java_of_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert server_files.java() == str(tmp_path / "bin" / "java")


def test_servers_listen_on_the_loopback_only_and_have_no_administration(tmp_path: Path) -> None:
    command = write_files(tmp_path, 2, [Ports(1, 2, 3), Ports(4, 5, 6)], ServerOptions())
    lines = (tmp_path / "zoo.cfg").read_text().splitlines()
    assert {"clientPortAddress=127.0.0.1", "clientPort=4", "admin.enableServer=false"} <= set(lines)
    assert {"server.1=127.0.0.1:2:3", "server.2=127.0.0.1:5:6"} <= set(lines)
    assert (tmp_path / "data" / "myid").read_text() == "2\n"
    assert "-Dzookeeper.forceSync=yes" in command
    assert "-Dzookeeper.forceSync=no" in write_files(
        tmp_path, 1, [Ports(1, 2, 3)], ServerOptions(synced=False)
    )
    assert (tmp_path / "jaas.conf").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("nodes", [0, -1])
def test_an_ensemble_without_servers_is_refused(nodes: int) -> None:
    with pytest.raises(BadInput, match="at least one node"):
        Ensemble(nodes)


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="file: cannot hold ZooKeeper's data"):
        finish(Ensemble(directory=tmp_path / "file").start())


STARTS_AND_WAITS = """
import asyncio, sys
from regraft.coord import Ensemble

async def main():
    servers = Ensemble()
    await servers.start()
    print(servers.nodes[0].pid, servers.nodes[0].port, servers.nodes[0].place, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def test_servers_die_with_the_process_that_started_them() -> None:
    parent = subprocess.Popen([sys.executable, "-c", STARTS_AND_WAITS], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent, parent.stdout:
        group, _port, place = parent.stdout.readline().split()
        os.killpg(int(group), 0)
        parent.send_signal(signal.SIGKILL)
        parent.wait()

    async def gone() -> None:
        while True:
            try:
                os.killpg(int(group), 0)
            except ProcessLookupError:
                return
            await asyncio.sleep(0.02)

    finish(gone())
    TemporaryFolder("zookeeper").remove()  # the next start removes what was left
    assert not Path(place).exists()
