"""Agents and a ZooKeeper that goes away: they wait, come back, and finish what was under way."""

import asyncio

import pytest
from tests.broker.io.peers import finish
from tests.deploy.agents_at_work import at_work

from regraft.coord import Coord, Ensemble, Layout
from regraft.deploy.agent import BrokerAgent
from regraft.deploy.states import Reported
from regraft.model import Topology

CHAIN = Topology.of([("a", "b"), ("b", "c")])


@pytest.mark.slow
def test_agents_outlive_a_zookeeper_that_is_killed_in_the_middle_of_a_change(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(agent: BrokerAgent, do: object) -> None:
        pass

    async def scenario() -> None:
        async with Ensemble() as ensemble, at_work(ensemble.hosts, root, CHAIN) as work:
            monkeypatch.setattr(BrokerAgent, "_decide", nothing)
            path = await work.action("shift", "a", "b", "c")
            await work.command(path, "a", "b", "c")
            await work.reported(path, Reported.READY, "a", "b", "c")
            ensemble.nodes[0].kill()
            await asyncio.sleep(0.5)
            monkeypatch.undo()
            await ensemble.restart(0)
            await work.reported(path, Reported.DONE, "a", "b", "c")
            await work.links({"a": "c", "b": "c", "c": "a b"})

    finish(scenario(), 60)


def test_an_agent_whose_session_has_expired_is_there_again(hosts: str) -> None:
    layout = Layout("/test-expired")

    async def scenario() -> None:
        async with (
            at_work(hosts, layout.root, CHAIN) as work,
            await Coord.connect(hosts) as other,
        ):
            alive = layout.alive("a")
            while (node := await other.get(alive)) is None:
                await asyncio.sleep(0.02)
            await other.delete(alive)  # as an expired session does
            while (again := await other.get(alive)) is None:
                await asyncio.sleep(0.02)
            assert again.czxid > node.czxid
            path = await work.action("shift", "a", "b", "c")
            await work.command(path, "a", "b", "c")
            await work.reported(path, Reported.DONE, "a", "b", "c")

    finish(scenario())
