"""From the loop's windows to the join of a repair: what was measured decides which neighbours are linked."""

import asyncio
import random
from pathlib import Path
from typing import Any

from tests.deploy.fake_agents import within
from tests.node.healing.running import Running
from tests.serve.serving import OnZooKeeper

from regraft.coord import Coord, Layout
from regraft.coord.typed import encode
from regraft.estate.memory.estate import MadeUpWindows
from regraft.heal.core.tidying import Tidying
from regraft.heal.measured_demand import demand_of, last_measured, publish
from regraft.model import Ends, Link, Plan, Topology, ends
from regraft.model.topology import Broker
from regraft.model.traffic import TrafficClass
from regraft.model.workload import Workload

STAR = Topology.of([("m", each) for each in "abcd"])
PAIRS = (
    TrafficClass(frozenset("ac"), 900.0),
    TrafficClass(frozenset("bd"), 600.0),
    TrafficClass(frozenset("ad"), 1.0),
)


def test_the_heaviest_classes_are_kept_and_what_is_left_out_is_counted() -> None:
    chance = random.Random(1)
    names = [f"broker-{number:03}" for number in range(200)]
    traffic = tuple(
        TrafficClass(frozenset(chance.sample(names, 3)), chance.uniform(1, 100)) for _ in range(5000)
    )
    found = demand_of("w", traffic, None, most=32 << 10)
    assert 16 << 10 < len(encode(found)) <= 32 << 10
    kept = sorted((demand for _, demand in found.classes), reverse=True)
    assert kept == sorted((each.demand for each in traffic), reverse=True)[: len(kept)]
    assert abs(sum(kept) + found.left_out - sum(each.demand for each in traffic)) < 1e-6


def test_everything_that_crosses_a_link_is_kept_if_there_is_room() -> None:
    network = Topology(tuple(map(Broker, "ab")), (Link(ends("a", "b"), cost=7.0),), "mesh")
    found = demand_of("w", (*PAIRS, TrafficClass(frozenset("a"), 5000.0)), network)
    assert set(found.traffic) == set(PAIRS)
    assert found.left_out == 0
    assert found.link_costs == {ends("a", "b"): 7.0}


def test_what_the_loop_has_measured_decides_how_a_gap_is_joined(
    hosts: str, root: str, tmp_path: Path
) -> None:
    async def scenario() -> None:
        layout = Layout(root)
        async with await Coord.connect(hosts) as coord:
            assert await last_measured(coord, layout) is None
            node = Running(coord, hosts, layout)
            nobody: Any = None
            tidying = Tidying(node.known, nobody, lambda id: None)
            await node.result(tidying.learn_demand())
            bench = OnZooKeeper(hosts, root)
            async with (
                bench.network(STAR),
                bench.serving(bench.settings(tmp_path, mode="observe"), MadeUpWindows(Workload(PAIRS))),
            ):
                while (measured := await last_measured(coord, layout)) is None:
                    await asyncio.sleep(0.02)
            assert set(measured.traffic) == set(PAIRS)
            assert {("a", "c"), ("b", "d")} <= await _joined(node, tidying)
            other = (TrafficClass(frozenset("ab"), 900.0), TrafficClass(frozenset("cd"), 600.0))
            await publish(coord, layout, demand_of("later", other, None))
            assert {("a", "b"), ("c", "d")} <= await _joined(node, tidying)

    within(scenario())


async def _joined(node: Running, tidying: Tidying) -> set[Ends]:
    await node.result(tidying.learn_demand())
    plan = tidying.joined(STAR, {"m"})
    assert isinstance(plan, Plan)
    return {ends(one, to) for step in plan.steps for _, (one, _, to) in step}
