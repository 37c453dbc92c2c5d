"""The page over real brokers: a plan is previewed, approved and carried out; a killed broker heals.

ZooKeeper, destination databases and nodes are processes; the service is the real one. Only its windows are
made up, so that the test needs no Spark.
"""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright, expect
from tests.serve.serving import settings

from regraft.estate.memory.estate import MadeUpWindows
from regraft.estate.opening import opened
from regraft.model import Topology
from regraft.model.traffic import TrafficClass
from regraft.model.workload import Workload
from regraft.serve.running import running_service
from regraft.serve.service import Service
from regraft.testing.healing_overlay import HealingOverlay, healing_overlay
from regraft.testing.web_server import ARGUMENTS, browser
from regraft.web.serving import serving

CHROMIUM = browser()
pytestmark = [
    pytest.mark.xdist_group("healing zookeeper"),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; as root: apt-get install chromium"),
]
IDS = [f"b{number}" for number in range(5)]
LINE = Topology.of(pairwise(IDS), IDS)
BUSY = Workload((TrafficClass(frozenset(("b0", "b4")), 900.0), TrafficClass(frozenset(("b1", "b3")), 600.0)))
GRAPH = "document.querySelector('main.overlay .graph')?.graph"


async def until(page: Page, condition: str) -> None:
    while not await page.evaluate(condition):
        await page.wait_for_timeout(50)


async def links(page: Page) -> set[tuple[str, str]]:
    told = f"{GRAPH}.edges().map((edge) => [edge.data('source'), edge.data('target')])"
    return {(min(pair), max(pair)) for pair in await page.evaluate(told)}


async def proposed(service: Service) -> None:
    """Waits for a proposal; if none comes, the decision log says why."""
    for _ in range(600):
        if service.state().proposal is not None:
            return
        await asyncio.sleep(0.1)
    raise AssertionError([(each.kind, each.text) for each in service.decisions(20)])


async def approve_what_waits(page: Page, service: Service, overlay: HealingOverlay) -> None:
    await proposed(service)
    await page.get_by_role("link", name="Look at the plan").click()
    await page.get_by_role("button", name="Next step").click()
    waiting = service.proposals()[0]
    await expect(page.get_by_role("heading", name=f"Step 1 of {waiting.steps}")).to_be_visible()
    await expect(page.locator(".actions code").first).to_contain_text("shift(")
    await page.get_by_role("button", name="Approve").click()
    await page.get_by_role("dialog").get_by_role("button", name="Approve").click()
    badge = page.locator(f'.proposals a[href="#plans/{waiting.sha256}"] .badge')
    await expect(badge).to_have_text("done", timeout=30_000)
    assert (await overlay.topology()).sha256 == waiting.goal
    await page.get_by_role("link", name="Overlay", exact=True).click()
    for _ in range(200):
        if await links(page) == set((await overlay.topology()).by_ends):
            return
        await page.wait_for_timeout(50)
    raise AssertionError("the page does not show the goal")


async def kill_and_see_it_heal(page: Page, service: Service, overlay: HealingOverlay) -> None:
    await overlay.nodes.kill("b2")
    healed = await overlay.without("b2")
    await until(page, f"{GRAPH}.nodes().length === 4")
    assert await links(page) == set(healed.by_ends)
    await page.get_by_role("link", name="Decisions").click()
    await expect(page.locator(".side .decisions").get_by_text("b2").first).to_be_visible(timeout=20_000)


Steps = Callable[[Page, Service, HealingOverlay], Awaitable[None]]


async def on_a_page(folder: Path, *steps: Steps) -> None:
    async with healing_overlay(LINE, folder) as overlay:
        configuration = settings(overlay.ensemble.hosts, overlay.layout.root, folder / "state", window="1s")
        async with (
            opened(configuration.estate, MadeUpWindows(BUSY)) as estate,
            running_service(configuration, estate) as service,
            serving(service, configuration.web) as here,
            async_playwright() as playwright,
        ):
            chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            page = await chromium.new_page(viewport={"width": 1440, "height": 900})
            faults: list[str] = []
            page.on("pageerror", lambda fault: faults.append(str(fault)))
            await page.goto(here.url)
            await until(page, f"{GRAPH}?.nodes().length === 5")
            for step in steps:
                await step(page, service, overlay)
            await chromium.close()
            assert faults == []


def test_a_plan_is_approved_and_carried_out_and_a_killed_broker_heals(tmp_path: Path) -> None:
    async def limited() -> None:
        async with asyncio.timeout(170):
            await on_a_page(tmp_path, approve_what_waits, kill_and_see_it_heal)

    asyncio.run(limited())
