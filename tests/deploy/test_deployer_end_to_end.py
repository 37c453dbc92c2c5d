"""Plans carried out on real brokers with real agents, audited by canaries."""

import asyncio
from pathlib import Path

import pytest
from tests.deploy.agents_at_work import AtWork, at_work
from tests.deploy.fake_agents import start_overlay, within
from tests.deploy.plans import AROUND, CHAIN, RING_OPENED, STAR, TO_STAR, links_of, verify

from regraft.coord import Coord, Layout
from regraft.deploy.begin import RunSettings
from regraft.deploy.control import order_run
from regraft.deploy.deployer import Progress
from regraft.deploy.execute import execute, resume, roll_back
from regraft.deploy.states import RunOrder
from regraft.model import Topology
from regraft.model.outcome import Outcome

AUDITED = RunSettings(canaries=3)


async def present(work: AtWork, topology: Topology) -> None:
    """The overlay as `regraft up` leaves it: known in ZooKeeper, with agents that say so."""
    await start_overlay(work.coord, work.layout, topology)
    for id in topology.ids:
        while not (await work.status(id)).port or await work.coord.get(work.layout.alive(id)) is None:
            await asyncio.sleep(0.02)


def check_clean(outcome: Outcome, goal: Topology) -> None:
    assert (outcome.state, outcome.goal, outcome.reason) == ("done", True, "")
    assert links_of(outcome.topology) == links_of(goal)
    seen = outcome.canaries
    assert seen is not None, outcome.no_canaries
    assert (seen.lost, seen.duplicated, seen.reordered) == (0, 0, 0)
    assert seen.delivered == len(seen.subscribers) * seen.published > 0


async def check_links(work: AtWork, goal: Topology) -> None:
    async with asyncio.timeout(20):
        await work.links({id: " ".join(near) for id, near in goal.neighbours.items()})


def test_a_plan_there_and_back_loses_nothing(hosts: str, root: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN, tmp_path) as work:
            await present(work, CHAIN)
            check_clean(await execute(TO_STAR, work.coord, work.layout, verify, AUDITED), STAR)
            await check_links(work, STAR)
            back = await roll_back(work.coord, work.layout, AUDITED)
            check_clean(back, CHAIN)
            assert back.back
            await check_links(work, CHAIN)

    within(scenario())


def test_a_link_that_slides_past_several_brokers_loses_nothing(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN) as work:
            await present(work, CHAIN)
            check_clean(await execute(AROUND, work.coord, work.layout, verify, AUDITED), RING_OPENED)
            await check_links(work, RING_OPENED)

    within(scenario())


@pytest.mark.parametrize("state", ["preparing", "committed"])
def test_a_deployer_that_dies_in_the_middle_is_continued(hosts: str, root: str, state: str) -> None:
    def dying(progress: Progress) -> None:
        if progress.run.step == 2 and any(each.state == state for each in progress.actions.values()):
            raise ZeroDivisionError

    async def killed(layout: Layout) -> None:
        async with await Coord.connect(hosts) as own:
            with pytest.raises(ZeroDivisionError):
                await execute(AROUND, own, layout, verify, RunSettings(canaries=0), dying)

    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN) as work:
            await present(work, CHAIN)
            await killed(work.layout)
            check_clean(await resume(work.coord, work.layout, AUDITED), RING_OPENED)
            await check_links(work, RING_OPENED)

    within(scenario())


def test_nothing_begins_while_canaries_are_late(hosts: str, root: str) -> None:
    """No canary is that quick: the run waits, and is stopped before its first change."""

    async def scenario() -> None:
        async with at_work(hosts, root, CHAIN) as work:
            await present(work, CHAIN)
            settings = RunSettings(canaries=1, latency_ms=0.001)
            running = asyncio.create_task(execute(TO_STAR, work.coord, work.layout, verify, settings))
            await asyncio.wait([running], timeout=1.5)
            await order_run(work.coord, work.layout, RunOrder.STOP)
            outcome = await running
            assert (outcome.state, outcome.epoch) == ("stopped", 1)
            assert outcome.canaries is not None
            assert outcome.canaries.delivered > 0

    within(scenario())
