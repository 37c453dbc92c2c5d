"""Repairs and other runs take turns, and a run of the loop gives way: on a real ZooKeeper."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.deploy.fake_agents import within
from tests.deploy.plans import AROUND, verify
from tests.deploy.test_deployer import QUIET, overlay
from tests.node.healing.running import Running

from regraft.coord import Coord
from regraft.deploy.execute import execute
from regraft.heal.core.repairs import Repairs
from regraft.heal.core.requests import ExecutionLimits
from regraft.heal.repair_plan import shifting
from regraft.model import Plan, Topology


def once(moved: list[str]) -> Callable[[Topology], Plan | None]:
    """Moves a leaf one link further, in any tree."""

    def make(topology: Topology) -> Plan | None:
        if moved:
            leaf = moved[0]
            (near,) = topology.neighbours[leaf]
            if near == moved[1]:
                return None
        leaf = next(id for id in topology.ids if len(topology.neighbours[id]) == 1)
        (near,) = topology.neighbours[leaf]
        further = min(topology.neighbours[near] - {leaf})
        moved[:] = [leaf, further]
        return shifting(topology, leaf, near, further)

    return make


@pytest.mark.parametrize(("gives_way", "ends"), [(True, "stopped"), (False, "done")])
def test_a_run_of_the_loop_gives_way_to_a_repair_and_one_of_a_person_is_waited_for(
    hosts: str, root: str, gives_way: bool, ends: str
) -> None:
    async def scenario() -> None:
        async with overlay(hosts, root) as (coord, layout, agents), await Coord.connect(hosts) as own:
            agents.slow = 0.1
            settings = replace(QUIET, gives_way=gives_way)
            running = asyncio.create_task(execute(AROUND, coord, layout, verify, settings))
            while not agents.prepared:
                await asyncio.sleep(0.01)
            node = Running(own, hosts, layout)
            limits = ExecutionLimits(QUIET.seconds, QUIET.attempts)
            assert await node.result(Repairs(node.known).carry_out(once([]), limits, 30.0)) == ""
            outcome = await running
            assert outcome.state == ends
            assert (len(outcome.topology.links), outcome.goal) == (4, not gives_way)

    within(scenario())
