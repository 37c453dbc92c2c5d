"""`regraft up` with agents: links can be changed while it runs, and the change outlives it."""

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest
from tests.broker.io.peers import finish
from tests.cli.conftest import Run, refused
from tests.cli.running import running

from regraft.cli.up_agents import coordination
from regraft.cli.up_command import MANY
from regraft.cli.zookeeper_options import Zookeeper
from regraft.coord import Configuration, Coord, Layout
from regraft.coord.typed import encode, read
from regraft.deploy.records import Command, Current, Doing, Status
from regraft.deploy.states import ActionState, Reported
from regraft.model import BadInput

LAYOUT = Layout()
BEFORE, AFTER = [("a", "b"), ("b", "c")], [("a", "c"), ("b", "c")]


async def shifted(hosts: str, *, last: bool = True) -> None:
    """What a deployer does for shift(a, b, c)."""
    async with await Coord.connect(hosts) as coord:
        path, change = LAYOUT.action(1, 1), ("shift", "a", "b", "c")
        doing = Doing(action=change, changes=[change], run="r", name="1.1", state=ActionState.PREPARING)
        await coord.create(path, encode(doing))
        for id in "abc":
            await coord.create(LAYOUT.command(id), encode(Command(actions=(path,))))
        for id in "abc":
            while True:
                status = await read(coord, LAYOUT.status(id), Status)
                if status is not None and status.value.stage(doing.change.id) == Reported.DONE:
                    break
                await asyncio.sleep(0.02)
        if not last:
            return
        stored = await read(coord, LAYOUT.topology, Current)
        assert stored is not None
        assert (stored.value.epoch, stored.value.links) == (1, BEFORE)
        current = Current(epoch=2, kind="tree", brokers=["a", "b", "c"], links=AFTER)
        await coord.set(LAYOUT.topology, encode(current), stored.node.version)


def neighbours(up: dict[str, dict[str, dict[str, object]]]) -> dict[str, object]:
    return {id: row["neighbours"] for id, row in up["brokers"].items()}


@pytest.mark.slow
def test_links_can_be_changed_and_stay_so_after_a_restart(folder: Path) -> None:
    with running(folder, "--agents", "--state", "state", "--spare", "x") as up:
        written = json.loads((folder / "out" / "overlay.json").read_text())
        assert written["zookeeper"] == up["zookeeper"]
        assert written["zookeeper_root"] == "/regraft"
        assert neighbours(up) == {"a": ["b"], "b": ["a", "c"], "c": ["b"], "x": []}
        finish(shifted(up["zookeeper"]), 60)
    assert up["process"].returncode == 0
    with running(folder, "--agents", "--state", "state") as up:
        assert neighbours(up) == {"a": ["c"], "b": ["c"], "c": ["a", "b"]}
        said = up["process"].stderr.readline()
    assert said == "regraft: the links are those of /regraft/topology, epoch 2, not of the file\n"


@pytest.mark.slow
def test_agents_of_processes_are_processes_and_come_back(folder: Path) -> None:
    with running(folder, "--agents", "--processes", "--state", "state") as up:
        agents = agent_processes(up["process"].pid)
        assert len(agents) == 3
        for pid in agents:
            os.kill(pid, signal.SIGKILL)
        finish(shifted(up["zookeeper"], last=False), 60)
        assert not agents & agent_processes(up["process"].pid)
    for pid in agents | {row["pid"] for row in up["brokers"].values()}:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.slow
def test_agents_of_many_brokers_share_a_process_of_their_own(folder: Path) -> None:
    spare = [option for number in range(MANY - 3) for option in ("--spare", f"x{number}")]
    with running(folder, "--agents", *spare) as up:
        (agents,) = agent_processes(up["process"].pid)
        finish(shifted(up["zookeeper"], last=False), 60)
    with pytest.raises(ProcessLookupError):
        os.kill(agents, 0)


def agent_processes(parent: int) -> set[int]:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return {int(pid) for pid in children if b"agent_process" in Path(f"/proc/{pid}/cmdline").read_bytes()}


def test_without_java_the_way_out_is_named(
    regraft: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("REGRAFT_ZOOKEEPER", raising=False)
    monkeypatch.setenv("PATH", str(folder))
    result = regraft("up", "now.json")
    assert result.exit_code == 1
    assert "needs Java" in result.stderr
    assert "--no-agents" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_ensemble_that_is_not_there_is_bad_input() -> None:
    async def scenario() -> None:
        nowhere = Configuration("127.0.0.1:1", timeout=0.3)
        with pytest.raises(BadInput, match=r"ZooKeeper at 127\.0\.0\.1:1 is not reachable"):
            async with coordination(Zookeeper(nowhere, LAYOUT), None):
                pass

    finish(scenario())


def test_a_spare_broker_is_for_agents(regraft: Run, folder: Path) -> None:
    assert "takes agents" in refused(regraft("up", "now.json", "--no-agents", "--spare", "x"))
