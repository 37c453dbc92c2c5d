"""A network in memory: plans are carried out, paused, stopped, taken back and resumed as on a real one."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest
from tests.deploy.fake_agents import within

from regraft.estate.memory.estate import MadeUpWindows, MemoryEstate
from regraft.estate.memory.network import MemoryNetwork
from regraft.estate.protocol import AnotherLoop, Away, Known, RunProgress
from regraft.loop.values import Ended
from regraft.model import BadInput, Infeasible, Limits, Plan, Topology
from regraft.model.workload import Workload
from regraft.plan import make_plan

CHAIN = Topology.of(pairwise("abcde"))
STAR = Topology.of([("a", "b"), ("a", "c"), ("a", "d"), ("a", "e")])


def plan(start: Topology = CHAIN, goal: Topology = STAR) -> Plan:
    found = make_plan(start, goal, Limits(time_limit=0.05))
    assert not isinstance(found, Infeasible)
    return found


def ignore_progress(progress: RunProgress) -> None:
    """Does nothing."""


def on(network: MemoryNetwork, scenario: Callable[[MemoryEstate], Awaitable[None]]) -> None:
    async def run() -> None:
        async with MemoryEstate.opened(network, MadeUpWindows(Workload())) as estate:
            await scenario(estate)

    within(run(), 20.0)


def test_a_plan_is_carried_out_step_by_step_and_taken_back() -> None:
    network = MemoryNetwork(CHAIN)
    told: list[RunProgress] = []

    async def scenario(estate: MemoryEstate) -> None:
        made = plan()
        outcome = await estate.carry_out(made, told.append)
        assert (outcome.state, outcome.goal, outcome.topology.sha256) == ("done", True, STAR.sha256)
        assert [each.actions_done for each in told] == sorted(each.actions_done for each in told)
        assert (told[-1].actions_done, told[-1].step, told[-1].steps) == (
            made.actions,
            len(made.steps),
            len(made.steps),
        )
        assert outcome.epoch == 1 + made.actions
        back = await estate.roll_back(ignore_progress)
        assert (back.back, back.state, back.goal) == (True, "done", True)
        assert back.topology.sha256 == CHAIN.sha256
        with pytest.raises(BadInput, match="taken back already"):
            await estate.roll_back(ignore_progress)

    on(network, scenario)


def test_a_paused_run_waits_and_a_stopped_one_ends_where_it_is() -> None:
    network = MemoryNetwork(CHAIN)

    async def scenario(estate: MemoryEstate) -> None:
        network.silent = set("abcde")
        running = asyncio.create_task(estate.carry_out(plan(), ignore_progress))
        while not network.prepared:
            await asyncio.sleep(0)
        await estate.ask("pause")
        network.silent = set()
        await asyncio.sleep(0.05)
        assert network.known == Known(CHAIN, 1)
        await estate.ask("run")
        while network.known.epoch == 1:
            await asyncio.sleep(0)
        await estate.ask("stop")
        outcome = await running
        assert (outcome.state, outcome.goal) == ("stopped", False)
        assert outcome.topology.sha256 not in (CHAIN.sha256, STAR.sha256)
        with pytest.raises(BadInput, match="no run is under way"):
            await estate.ask("pause")

    on(network, scenario)


def test_a_run_that_is_asked_to_go_back_undoes_what_it_has_done() -> None:
    network = MemoryNetwork(CHAIN)

    async def scenario(estate: MemoryEstate) -> None:
        running = asyncio.create_task(estate.carry_out(plan(), ignore_progress))
        while network.known.epoch == 1:
            await asyncio.sleep(0)
        await estate.ask("roll back")
        outcome = await running
        assert (outcome.back, outcome.state, outcome.topology.sha256) == (True, "done", CHAIN.sha256)

    on(network, scenario)


def test_a_run_outlives_the_loop_and_an_outage_and_is_resumed() -> None:
    network, made = MemoryNetwork(CHAIN), plan()

    async def interrupted(estate: MemoryEstate) -> None:
        network.silent = set("abcde")
        running = asyncio.create_task(estate.carry_out(made, ignore_progress))
        while not network.prepared:
            await asyncio.sleep(0)
        assert await estate.interrupted() is None
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    async def resumed(estate: MemoryEstate) -> None:
        assert await estate.interrupted() == made.sha256
        with pytest.raises(BadInput, match="has not ended"):
            await estate.carry_out(made, ignore_progress)
        running = asyncio.create_task(estate.resume(made, False, ignore_progress))
        await asyncio.sleep(0)
        network.go_away("ignore_progress answers")
        with pytest.raises(Away, match="ignore_progress answers"):
            await running
        network.come_back()
        with pytest.raises(Away, match="right"):
            await estate.resume(made, False, ignore_progress)
        network.silent = set()
        await estate.probe()
        outcome = await estate.resume(made, False, ignore_progress)
        assert not isinstance(outcome, Ended)
        assert outcome.goal
        assert isinstance(await estate.resume(made, False, ignore_progress), Ended)

    on(network, interrupted)
    on(network, resumed)


def test_a_plan_for_another_topology_is_refused_and_touches_nothing() -> None:
    network = MemoryNetwork(STAR)

    async def scenario(estate: MemoryEstate) -> None:
        with pytest.raises(BadInput, match="does not start from the current topology"):
            await estate.carry_out(plan(), ignore_progress)
        assert await estate.last_run() is None

    on(network, scenario)


def test_changes_and_losses_are_told_and_only_one_loop_may_hold_it() -> None:
    network = MemoryNetwork(CHAIN)
    changed: list[Known] = []
    failed: list[str] = []

    async def scenario(estate: MemoryEstate) -> None:
        following = asyncio.create_task(estate.follow(changed.append, failed.append))
        await asyncio.sleep(0)
        network.set_topology(STAR, 5)
        assert changed == [Known(STAR, 5)] == [estate.known]
        with pytest.raises(BadInput, match="another loop runs"):
            async with MemoryEstate.opened(network, MadeUpWindows(Workload())):
                pytest.fail("it must not begin")
        network.go_away("ignore_progress answers")
        assert failed == ["ignore_progress answers"]
        network.come_back()
        network.held_by = "loop on another machine"
        with pytest.raises(AnotherLoop, match="another machine"):
            await estate.probe()
        following.cancel()

    on(network, scenario)
