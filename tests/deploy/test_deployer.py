"""The deployer on a real ZooKeeper, with agents that pretend."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.deploy.fake_agents import FakeAgents, start_overlay, within
from tests.deploy.plans import AROUND, CHAIN, RING_OPENED, STAR, TO_STAR, links_of, verify

from regraft.coord import Coord, Layout, LeaseLost
from regraft.coord.typed import read
from regraft.deploy.begin import RunSettings
from regraft.deploy.control import order_run
from regraft.deploy.deployer import Progress
from regraft.deploy.execute import execute, resume, roll_back
from regraft.deploy.records import Command, Current, Run
from regraft.deploy.states import RunOrder
from regraft.model import BadInput, Topology
from regraft.model.outcome import Outcome

QUIET = RunSettings(canaries=0)


@asynccontextmanager
async def overlay(
    hosts: str, root: str, topology: Topology = CHAIN
) -> AsyncIterator[tuple[Coord, Layout, FakeAgents]]:
    layout = Layout(root)
    async with await Coord.connect(hosts) as coord, FakeAgents(hosts, layout, topology.ids) as agents:
        await start_overlay(coord, layout, topology)
        yield coord, layout, agents


async def current(coord: Coord, layout: Layout) -> Current:
    stored = await read(coord, layout.topology, Current)
    assert stored is not None
    return stored.value


async def commands_left(coord: Coord, layout: Layout) -> list[str]:
    found = [await read(coord, layout.command(name), Command) for name in CHAIN.ids]
    return [path for each in found if each for path in each.value.actions]


def check_reached(outcome: Outcome, goal: Topology) -> None:
    assert (outcome.state, outcome.goal, outcome.reason) == ("done", True, "")
    assert links_of(outcome.topology) == links_of(goal)


async def interrupted(coord: Coord, layout: Layout, step: int, hosts: str) -> None:
    """A deployer that dies, session and all, as soon as it is at this step of AROUND."""

    def tell(progress: Progress) -> None:
        if progress.run.step >= step and any(
            doing.state == "preparing" for doing in progress.actions.values()
        ):
            raise ZeroDivisionError

    async with await Coord.connect(hosts) as own:
        with pytest.raises(ZeroDivisionError):
            await execute(AROUND, own, layout, verify, QUIET, tell)


def test_a_plan_is_carried_out_and_leaves_its_outcome(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with overlay(hosts, root) as (coord, layout, _):
            outcome = await execute(TO_STAR, coord, layout, verify, QUIET)
            check_reached(outcome, STAR)
            assert [each.state for each in outcome.actions] == ["done", "done"]
            assert all(each.seconds is not None and each.attempts == 1 for each in outcome.actions)
            assert outcome.epoch == (await current(coord, layout)).epoch == 3
            assert await commands_left(coord, layout) == []

    within(scenario())


def test_a_step_begins_only_when_the_one_before_is_over(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with overlay(hosts, root) as (coord, layout, agents):
            check_reached(await execute(AROUND, coord, layout, verify, QUIET), RING_OPENED)
            told = list(dict.fromkeys(change for _, change in agents.prepared))
            assert told == ["shift(a, b, c)", "shift(a, c, d)", "shift(a, d, e)"]

    within(scenario())


def test_a_refused_change_is_tried_again_and_then_fails_the_run(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with overlay(hosts, root) as (coord, layout, agents):
            agents.refuse["d"] = "no room"
            settings = RunSettings(canaries=0, attempts=2)
            outcome = await execute(AROUND, coord, layout, verify, settings)
            assert (outcome.state, outcome.goal) == ("failed", False)
            assert outcome.reason == "shift(a, c, d) in step 2: d: no room"
            assert ("a", "c") in links_of(outcome.topology)
            agents.refuse.clear()
            check_reached(await resume(coord, layout, settings), RING_OPENED)

    within(scenario())


def test_a_broker_that_is_never_ready_costs_one_attempt(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with overlay(hosts, root) as (coord, layout, agents):
            agents.silent.add("d")
            settings = RunSettings(canaries=0, attempts=1, seconds=1.0)
            outcome = await execute(TO_STAR, coord, layout, verify, settings)
            assert outcome.state == "failed"
            assert re.search(r"in step 1: not ready within 1 s: .*\bd\b", outcome.reason)
            assert ("c", "e") not in links_of(outcome.topology)

    within(scenario())


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_killed_deployer_is_continued_by_the_next(hosts: str, root: str, step: int) -> None:
    async def scenario() -> None:
        async with overlay(hosts, root) as (coord, layout, _):
            await interrupted(coord, layout, step, hosts)
            with pytest.raises(BadInput, match=r"is under way \(step .* of 3\): continue with --resume"):
                await execute(AROUND, coord, layout, verify, QUIET)
            check_reached(await resume(coord, layout, QUIET), RING_OPENED)

    within(scenario())


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_killed_run_is_taken_back(hosts: str, root: str, step: int) -> None:
    async def scenario() -> None:
        async with overlay(hosts, root) as (coord, layout, _):
            await interrupted(coord, layout, step, hosts)
            outcome = await roll_back(coord, layout, QUIET)
            check_reached(outcome, CHAIN)
            assert outcome.back
            with pytest.raises(BadInput, match="has been taken back already"):
                await roll_back(coord, layout, QUIET)

    within(scenario())


@pytest.mark.parametrize("done", [AROUND, TO_STAR])
def test_a_finished_run_is_taken_back_change_by_change(hosts: str, root: str, done: object) -> None:
    async def scenario() -> None:
        async with overlay(hosts, root) as (coord, layout, _):
            await execute(done, coord, layout, verify, QUIET)  # type: ignore[arg-type]
            check_reached(await roll_back(coord, layout, QUIET), CHAIN)

    within(scenario())


def test_a_run_is_not_taken_back_over_later_changes(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with overlay(hosts, root) as (coord, layout, _):
            await execute(AROUND, coord, layout, verify, QUIET)
            now = await read(coord, layout.topology, Current)
            assert now is not None
            await coord.set(
                layout.topology, now.node.data.replace(b'"epoch":4', b'"epoch":9'), now.node.version
            )
            with pytest.raises(BadInput, match="the topology has changed since"):
                await roll_back(coord, layout, QUIET)

    within(scenario())


def test_a_run_that_is_ordered_to_roll_back_does_so_by_itself(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with overlay(hosts, root) as (coord, layout, _):
            asked: list[asyncio.Task[Run]] = []

            def tell(progress: Progress) -> None:
                if progress.run.step == 2 and not asked:
                    asked.append(asyncio.create_task(order_run(coord, layout, RunOrder.ROLL_BACK)))

            outcome = await execute(AROUND, coord, layout, verify, QUIET, tell)
            check_reached(outcome, CHAIN)
            assert outcome.back

    within(scenario())


def test_a_paused_run_begins_nothing_until_it_is_resumed(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with overlay(hosts, root) as (coord, layout, agents):
            paused: list[asyncio.Task[Run]] = []

            def tell(progress: Progress) -> None:
                if progress.run.step == 1 and not paused:
                    paused.append(asyncio.create_task(order_run(coord, layout, RunOrder.PAUSE)))

            running = asyncio.create_task(execute(AROUND, coord, layout, verify, QUIET, tell))
            await asyncio.wait([running], timeout=0.5)
            assert not running.done()
            told = set(agents.prepared)
            assert not {change for _, change in told} >= {"shift(a, d, e)"}
            await asyncio.wait([running], timeout=0.2)
            assert set(agents.prepared) == told
            await order_run(coord, layout, RunOrder.RUN)
            check_reached(await running, RING_OPENED)

    within(scenario())


def test_a_stopped_run_leaves_a_topology_from_which_it_can_be_resumed(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with overlay(hosts, root) as (coord, layout, _):
            asked: list[asyncio.Task[Run]] = []

            def tell(progress: Progress) -> None:
                if progress.run.step == 2 and not asked:
                    asked.append(asyncio.create_task(order_run(coord, layout, RunOrder.STOP)))

            outcome = await execute(AROUND, coord, layout, verify, QUIET, tell)
            assert (outcome.state, outcome.goal) == ("stopped", False)
            check_reached(await resume(coord, layout, QUIET), RING_OPENED)

    within(scenario())


def test_a_second_deployer_is_told_who_runs(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with overlay(hosts, root) as (coord, layout, agents):
            agents.slow = 0.05
            first = asyncio.create_task(execute(AROUND, coord, layout, verify, QUIET))
            while await coord.children(layout.lock("deployer")) == []:
                await asyncio.sleep(0.01)
            async with await Coord.connect(hosts) as other:
                with pytest.raises(
                    BadInput,
                    match=r"another deployer runs: deployer on .*, process \d+|deployer on .* works on it",
                ):
                    await execute(AROUND, other, layout, verify, QUIET)
            check_reached(await first, RING_OPENED)

    within(scenario())


def test_a_deployer_without_its_lease_stops(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with overlay(hosts, root) as (coord, layout, agents):
            agents.slow = 0.2
            running = asyncio.create_task(execute(AROUND, coord, layout, verify, QUIET))
            while await coord.get(layout.plan) is None:
                await asyncio.sleep(0.01)
            queue = layout.lock("deployer")
            for place in await coord.children(queue):
                await coord.delete(f"{queue}/{place}")
            with pytest.raises(LeaseLost):
                await running
            agents.slow = 0
            check_reached(await resume(coord, layout, QUIET), RING_OPENED)

    within(scenario())
