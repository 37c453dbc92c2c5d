"""Agents carry out what nodes command, and continue after a crash of an agent, a broker or ZooKeeper."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.broker.io.peers import finish
from tests.deploy.agents_at_work import TOKEN, AtWork, at_work, until

from regraft.coord import Coord, Corrupt
from regraft.coord.typed import encode, read
from regraft.deploy.agent import BrokerAgent
from regraft.deploy.driver import ControlDriver
from regraft.deploy.records import Command
from regraft.deploy.states import ActionState, Reported
from regraft.deploy.statistics import Statistics
from regraft.model import Topology

CHAIN = Topology.of([("a", "b"), ("b", "c")])
RING = Topology.of([("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")], kind="mesh")
SHIFTED = {"a": "c", "b": "c", "c": "a b"}
AS_BEFORE = {"a": "b", "b": "a c", "c": "b"}


def test_a_shift_is_prepared_decided_and_committed(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN) as work:
            path = await work.action("shift", "a", "b", "c")
            await work.command(path, "a", "b", "c")
            assert (await work.decided(path)).state == ActionState.COMMITTED
            await work.reported(path, Reported.DONE, "a", "b", "c")
            await work.links(SHIFTED)
            for id in "abc":
                status = await work.status(id)
                assert (status.host, status.port) == work.overlay.addresses[id]
                assert status.life > 0
                await work.write(work.layout.command(id), encode(Command()))
            for id in "abc":  # what is over is not reported for ever
                while (await work.status(id)).changes:
                    await asyncio.sleep(0.02)

    finish(scenario())


def test_an_aborted_shift_is_taken_back(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN) as work:
            path = await work.action("shift", "a", "b", "c")
            await work.command(path, "a", "b")  # c is not commanded, so no agent decides yet
            await until(lambda: bool(work.overlay.servers["a"].stages()))
            await until(lambda: bool(work.overlay.servers["b"].stages()))
            await work.decide(path, ActionState.ABORTED)
            await work.reported(path, Reported.ABORTED, "a", "b")
            await work.links(AS_BEFORE)
            assert not work.overlay.servers["a"].stages()

    finish(scenario())


def test_what_is_not_ready_in_time_is_aborted(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN) as work:
            path = await work.action("shift", "a", "b", "c", seconds=0.3)
            await work.command(path, "a", "b")
            doing = await work.decided(path)
            assert (doing.state, doing.reason) == (ActionState.ABORTED, "not ready within 0.3 s: a, b, c")
            await work.reported(path, Reported.ABORTED, "a", "b")

    finish(scenario())


def test_a_refused_prepare_leads_to_an_aborted_decision(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN) as work:
            path = await work.action("shift", "a", "c", "b")
            await work.command(path, "a", "b", "c")
            doing = await work.decided(path)
            assert doing.state == ActionState.ABORTED
            assert "shift(a, c, b) does not fit the links of" in doing.reason
            await work.reported(path, Reported.ABORTED, "a", "b", "c")
            await work.links(AS_BEFORE)

    finish(scenario())


def driven(work: AtWork, id: str) -> tuple[tuple[str, int], str]:
    control = work.overlay.controls[id]
    assert control is not None
    return control, TOKEN


async def prepared_without_a_decision(work: AtWork) -> str:
    """All brokers are ready; c's agent dies before the others can know."""
    path = await work.action("shift", "a", "b", "c")
    await work.command(path, "a", "b", "c")
    await work.reported(path, Reported.READY, "a", "b", "c")
    return path


def test_an_agent_that_dies_when_its_broker_is_ready_is_followed_by_one_that_finishes(
    hosts: str, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(agent: BrokerAgent, do: object) -> None:
        pass

    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN) as work:
            monkeypatch.setattr(BrokerAgent, "_decide", nothing)
            path = await prepared_without_a_decision(work)
            await work.kill("a", "c")
            monkeypatch.undo()
            assert (await work.decided(path)).state == ActionState.COMMITTED  # by b
            assert work.overlay.servers["a"].stages()
            work.start("a", "c")
            await work.reported(path, Reported.DONE, "a", "b", "c")
            await work.links(SHIFTED)

    finish(scenario())


@pytest.mark.parametrize("id", ["a", "b", "c"])
def test_a_broker_that_dies_when_it_is_ready_commits_after_its_restart(
    hosts: str, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, id: str
) -> None:
    async def nothing(agent: BrokerAgent, do: object) -> None:
        pass

    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN, tmp_path) as work:
            monkeypatch.setattr(BrokerAgent, "_decide", nothing)
            path = await prepared_without_a_decision(work)
            life = (await work.status(id)).life
            await work.restart_broker(id)
            while (await work.status(id)).life == life:
                await asyncio.sleep(0.02)
            assert work.overlay.servers[id].stages() == {(await work.doing(path)).change.id: "in doubt"}
            monkeypatch.undo()
            await work.reported(path, Reported.DONE, "a", "b", "c")
            await work.links(SHIFTED)

    finish(scenario())


def test_a_broker_that_dies_before_it_is_ready_has_the_change_aborted(
    hosts: str, root: str, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN, tmp_path) as work:
            path = await work.action("shift", "a", "b", "c")
            await work.command(path, "a", "b")
            await until(lambda: bool(work.overlay.servers["a"].stages()))
            await work.restart_broker("a")
            doing = await work.decided(path)
            assert (doing.state, doing.reason) == (ActionState.ABORTED, "a crashed while it prepared")
            await work.command(path, "c")
            await work.reported(path, Reported.ABORTED, "a", "b", "c")
            await work.links(AS_BEFORE)

    finish(scenario())


def test_garbage_in_a_command_is_reported_with_its_repair_and_left_alone(
    hosts: str, root: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN) as work:
            command = work.layout.command("a")
            path = await work.action("shift", "a", "b", "c")
            for garbage in (b"\xff\x00", b"[]", b'{"actions": 7}', b'{"v": 99, "actions": []}'):
                await work.write(command, garbage)
                await asyncio.sleep(0.05)
            await work.command(path, "b", "c")
            await asyncio.sleep(0.3)
            assert not work.agents["a"].done()
            assert f"regraft znode delete {command} --zookeeper {hosts}" in caplog.text
            await work.write(command, encode(Command(actions=("//", "/zookeeper", "x", f"{path}/y", path))))
            await work.reported(path, Reported.DONE, "a", "b", "c")

    finish(scenario())


def test_an_action_that_cannot_be_read_is_skipped_and_the_others_continue(
    hosts: str, root: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN) as work:
            broken, odd = work.layout.action(2, 1), work.layout.action(2, 2)
            await work.write(broken, b"not JSON")
            path = await work.action("shift", "a", "b", "c")
            await work.write(odd, encode(replace(await work.doing(path), at=5)))
            for id in "abc":
                await work.write(work.layout.command(id), encode(Command(actions=(broken, odd, path))))
            await work.reported(path, Reported.DONE, "a", "b", "c")
            assert f"regraft znode delete {broken}" in caplog.text
            with pytest.raises(Corrupt):
                await work.doing(broken)

    finish(scenario())


def test_an_own_status_that_is_garbage_stops_the_agent_until_it_is_repaired(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN) as work:
            path = await work.action("shift", "a", "b", "c")
            await work.reported(path, Reported.NOTHING, "a")
            while not (await work.status("a")).port:
                await asyncio.sleep(0.02)
            await work.write(work.layout.status("a"), b"?")
            await asyncio.sleep(0.1)
            await work.command(path, "a", "b", "c")
            await asyncio.sleep(0.3)
            assert (await work.doing(path)).state == ActionState.PREPARING
            await work.coord.delete(work.layout.status("a"))
            await work.reported(path, Reported.DONE, "a", "b", "c")

    finish(scenario())


def test_an_agent_is_there_while_its_session_lives_and_replaces_the_one_before(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN) as work:
            alive = work.layout.alive("a")
            while await work.coord.get(alive) is None:
                await asyncio.sleep(0.02)
            await work.kill("a")  # its session, which is that of all agents here, lives on
            own = await Coord.connect(hosts)
            work.drivers["a"] = ControlDriver(*driven(work, "a"))
            agent = BrokerAgent("a", work.drivers["a"], own, work.layout)
            work.agents["a"] = asyncio.create_task(agent.run())
            while (node := await work.coord.get(alive)) is None or node.ephemeral_owner != own.session_id:
                await asyncio.sleep(0.02)
            await own.stop()
            while await work.coord.get(alive) is not None:
                await asyncio.sleep(0.02)

    finish(scenario())


def test_statistics_are_written(hosts: str, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regraft.deploy.statistics.EVERY_SECONDS", 0.05)

    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN) as work:
            while True:
                stored = await read(work.coord, work.layout.statistics("b"), Statistics)
                if stored is not None and stored.value.links == {"a": "up", "c": "up"}:
                    break
                await asyncio.sleep(0.02)

    finish(scenario())


def test_a_broker_that_is_appended_learns_where_the_others_are(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN) as work, at_work(hosts, root, Topology.of([], ["x"])) as other:
            path = await work.action("append", "x", "b")
            await work.command(path, "x", "b")
            await work.reported(path, Reported.DONE, "x", "b")
            await other.links({"x": "b"})
            await work.links({"b": "a c x"})

    finish(scenario())


def test_links_of_a_mesh_are_made_and_taken_away(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, RING) as work:
            path = await work.action("link", "c", "a")
            await work.command(path, "a", "c")
            await work.reported(path, Reported.DONE, "a", "c")
            await work.links({"a": "b c d", "c": "a b d"})
            path = await work.action("unlink", "a", "b", number=2)
            await work.command(path, "a", "b")
            await work.reported(path, Reported.DONE, "a", "b")
            await work.links({"a": "c d", "b": "c"})

    finish(scenario())


def test_a_broker_that_can_not_be_reached_is_waited_for(hosts: str, root: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN, tmp_path) as work:
            server = work.overlay.servers["b"]
            control = server.control_address
            await work.kill("b")
            work.drivers["b"] = ControlDriver(("127.0.0.1", 1), "none")
            agent = BrokerAgent("b", work.drivers["b"], work.coord, work.layout)
            work.agents["b"] = asyncio.create_task(agent.run())
            path = await work.action("shift", "a", "b", "c", seconds=0.5)
            await work.command(path, "a", "b", "c")
            assert (await work.decided(path)).state == ActionState.ABORTED
            await work.reported(path, Reported.ABORTED, "a", "c")
            await work.kill("b")
            assert control == server.control_address
            work.start("b")
            await work.reported(path, Reported.ABORTED, "b")

    finish(scenario())
