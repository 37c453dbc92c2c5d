"""The dashboard in a real browser, with a service in memory behind it."""

import re
import time
from collections.abc import Iterator

import msgspec
import pytest
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright
from tests.web.asking import TOKENS

from regraft.testing import web_overlay as made
from regraft.testing.web_server import ARGUMENTS, Background, background, browser
from regraft.testing.web_service import MemoryService
from regraft.web.settings import WebSettings
from regraft.web.users import Role, Users

CHROMIUM = browser()
pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; as root: apt-get install chromium"),
]
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
VIEWS = ("overlay", "plans", "history", "decisions", "brokers", "rules")
expect.set_options(timeout=30_000)  # a busy machine draws late
GRAPH = "document.querySelector('main:not([hidden]) .graph')?.graph"
"""The graph of the visible view; the overlay's view stays behind the others."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def served(service: MemoryService) -> Iterator[Background]:
    service.step_seconds = 0.1
    with background(service, WebSettings()) as here:
        yield here


class Watched:
    """A page, and the faults that were noticed on it."""

    def __init__(self, page: Page, origin: str) -> None:
        self.page, self.origin = page, origin
        self.faults: list[str] = []
        page.on("pageerror", lambda fault: self.faults.append(str(fault)))
        page.on("console", lambda said: self._said(said.type, said.text))
        page.on("request", self._asked)

    def _said(self, kind: str, text: str) -> None:
        if kind == "error" and "Failed to load resource" not in text:  # that is how a refusal looks
            self.faults.append(text)

    def _asked(self, request: object) -> None:
        url = str(getattr(request, "url", ""))
        if not url.startswith((self.origin, "data:", "blob:")):
            self.faults.append(f"asked elsewhere: {url}")


@pytest.fixture
def page(chromium: Browser, served: Background) -> Iterator[Page]:
    context = chromium.new_context(viewport=WIDE)  # type: ignore[arg-type]
    watched = Watched(context.new_page(), served.url)
    watched.page.goto(served.url)
    yield watched.page
    context.close()
    assert watched.faults == []


def until(page: Page, condition: str) -> None:
    """Polls from outside: the page's policy forbids evaluating text inside it."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(condition)


def until_brokers(page: Page, count: int) -> None:
    until(page, f"{GRAPH}?.nodes().length === {count}")


def links_shown(page: Page, picture: str = "") -> set[tuple[str, str]]:
    """The links in the first graph of the view, or in the one within `picture`."""
    graph = f"document.querySelector('{picture} .graph').graph" if picture else GRAPH
    there = f"{graph}.edges().not('.removed')"
    pairs = page.evaluate(f"{there}.map((edge) => [edge.data('source'), edge.data('target')])")
    return {(min(pair), max(pair)) for pair in pairs}


def until_links(page: Page, links: set[tuple[str, str]], picture: str = "") -> None:
    """A graph is drawn after the words beside it: in a busy browser the links follow a moment later."""
    deadline = time.monotonic() + 10
    while links_shown(page, picture) != links and time.monotonic() < deadline:
        page.wait_for_timeout(50)
    assert links_shown(page, picture) == links


def test_the_overlay_is_shown_as_it_is(page: Page, service: MemoryService) -> None:
    expect(page.get_by_text("12 brokers, 11 links, tree, epoch 7")).to_be_visible()
    until_brokers(page, 12)
    until_links(page, set(service.current.by_ends))
    expect(page.locator(".top").get_by_text("a person has to approve the plan")).to_be_visible()


def test_a_broker_and_a_link_tell_what_they_do(page: Page) -> None:
    until_brokers(page, 12)
    page.evaluate(f"void {GRAPH}.getElementById('b3').emit('tap')")
    expect(page.locator(".chosen h2")).to_have_text("b3")
    page.locator(".chosen .chip").first.click()
    expect(page.locator(".chosen h2")).not_to_have_text("b3")
    page.evaluate(f"void {GRAPH}.edges()[0].emit('tap')")
    expect(page.locator(".chosen")).to_contain_text("of the busiest link")


def test_sites_stand_on_a_map(page: Page) -> None:
    page.get_by_role("button", name="Map").click()
    expect(page.locator(".sites .site")).to_have_count(12)


def test_a_plan_is_played_step_by_step_before_it_is_approved(page: Page, service: MemoryService) -> None:
    page.get_by_role("link", name="Look at the plan").click()
    expect(page.get_by_role("heading", name="Before")).to_be_visible()
    steps = service.views.steps
    for number in (1, 2):
        page.get_by_role("button", name="Next step").click()
        expect(page.get_by_role("heading", name=f"Step {number} of {len(steps) - 1}")).to_be_visible()
        expect(page.locator(".actions code")).to_have_text([action.text for action in steps[number].actions])
        until_links(page, set(steps[number].links), ".player")
    expect(page.locator(".facts")).to_contain_text("routing cost")
    expect(page.get_by_text("Who gains")).to_be_visible()
    page.get_by_role("button", name="First").click()
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("heading", name="Step 1 of")).to_be_visible()


def test_an_approved_plan_is_seen_being_carried_out(page: Page, service: MemoryService) -> None:
    service.step_seconds = 1.0  # a busy machine's browser needs its time to look
    page.goto(f"{page.url}#plans")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("dialog")).to_contain_text(service.made_plan.sha256[:8])
    page.get_by_role("dialog").get_by_role("button", name="Approve").click()
    expect(page.locator(".running progress")).to_be_visible()
    expect(page.locator(".detail .badge", has_text="done")).to_be_visible(timeout=20_000)
    page.get_by_role("link", name="Overlay", exact=True).click()
    expect(page.get_by_text(f"epoch {7 + len(service.made_plan.steps)}")).to_be_visible()
    until_brokers(page, 12)
    until_links(page, set(service.goal.by_ends))


def test_a_rejection_needs_a_reason(page: Page) -> None:
    page.goto(f"{page.url}#plans")
    page.get_by_role("button", name="Reject").click()
    yes = page.get_by_role("dialog").get_by_role("button", name="Reject")
    expect(yes).to_be_disabled()
    page.get_by_label("Reason").fill("not before Monday")
    yes.click()
    expect(page.locator(".detail .badge").first).to_have_text("rejected")
    page.get_by_role("link", name="Decisions").click()
    expect(page.locator(".decisions").first).to_contain_text("not before Monday")


def test_a_refusal_is_shown(page: Page, served: Background, service: MemoryService) -> None:
    page.goto(f"{page.url}#plans")
    page.get_by_role("button", name="Approve").click()
    service.current = made.changed(service.current, seed=9)  # behind the page's back
    page.get_by_role("dialog").get_by_role("button", name="Approve").click()
    expect(page.locator(".notices .bad")).to_have_text("the topology has moved on")


def test_a_killed_broker_is_seen_dead_and_then_healed(
    page: Page, served: Background, service: MemoryService
) -> None:
    until_brokers(page, 12)
    served.call(lambda: service.kill("b3"))
    until(page, f"{GRAPH}.getElementById('b3').hasClass('dead')")
    expect(page.locator(".top .badge")).to_have_text("healing")
    served.call(service.heal)
    until_brokers(page, 11)
    until_links(page, set(service.current.by_ends))
    page.get_by_role("link", name="Decisions").click()
    expect(page.get_by_text("b3 does not answer: delete b3")).to_be_visible()


def test_telemetry_that_was_not_used_is_said_above_every_view(page: Page, service: MemoryService) -> None:
    expect(page.locator(".tiles")).to_be_visible()
    expect(page.locator(".telemetry")).to_have_count(0)
    service.points[-1] = msgspec.structs.replace(service.points[-1], rejected=3, late=12)
    page.reload()
    expect(page.locator(".telemetry")).to_contain_text("3 were rejected and 12 came too late")
    page.locator(".telemetry").get_by_role("link", name="History").click()
    expect(page.get_by_role("heading", name="Telemetry not used")).to_be_visible()


def test_the_loop_is_paused_and_its_mode_is_changed(page: Page, service: MemoryService) -> None:
    page.get_by_role("button", name="Pause").click()
    page.get_by_label("Reason").fill("holiday")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.get_by_role("alert")).to_contain_text("holiday")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("button", name="automatic").click()
    page.get_by_role("dialog").get_by_role("button", name="Automatic").click()
    expect(page.get_by_role("button", name="automatic")).to_have_attribute("aria-pressed", "true")
    assert service.mode == "automatic"


def test_plots_show_the_past_and_mark_transformations(page: Page) -> None:
    page.goto(f"{page.url}#history")
    expect(page.locator(".plots .u-over")).to_have_count(6)
    expect(page.get_by_role("row", name=re.compile("2-past"))).to_contain_text("done")


LATE_EFFECTS = """
const frame = window.requestAnimationFrame, later = window.setTimeout;
window.requestAnimationFrame = (work) => later(() => frame(work), 1500);
window.setTimeout = (work, ms, ...rest) => later(work, ms <= 100 ? 1500 : ms, ...rest);
"""
"""Imitates a busy machine: effects run long after a view was drawn."""


def test_what_arrives_just_after_a_view_was_drawn_is_shown(chromium: Browser, served: Background) -> None:
    context = chromium.new_context(viewport=WIDE)  # type: ignore[arg-type]
    page = context.new_page()
    page.add_init_script(LATE_EFFECTS)
    held: list[Route] = []
    page.route("**/api/v1/series", lambda route: held.append(route))  # noqa: PLW0108 — no builtin
    page.goto(served.url)
    for _ in range(600):
        if held:
            break
        page.wait_for_timeout(50)
    page.goto(f"{served.url}#history")
    page.locator(".history-view").wait_for()
    held.pop(0).continue_()
    expect(page.locator(".plots .u-over")).to_have_count(6)
    context.close()


def test_a_view_that_is_chosen_before_the_page_listens_is_shown(
    chromium: Browser, served: Background
) -> None:
    context = chromium.new_context(viewport=WIDE)  # type: ignore[arg-type]
    page = context.new_page()
    page.add_init_script(LATE_EFFECTS)
    page.goto(served.url)
    page.goto(f"{served.url}#history")
    page.locator(".history-view").wait_for()
    context.close()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_view_fits_its_window_in_both_themes(
    chromium: Browser, served: Background, size: dict[str, int], theme: str
) -> None:
    context = chromium.new_context(viewport=size, color_scheme=theme)  # type: ignore[arg-type]
    watched = Watched(context.new_page(), served.url)
    for view in VIEWS:
        watched.page.goto(f"{served.url}#{view}")
        expect(watched.page.locator("main:not([hidden]) .card").first).to_be_visible()
        assert watched.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, view
    assert watched.page.evaluate("document.documentElement.dataset.theme") == theme
    watched.page.get_by_role("button", name="Dark or light").click()
    assert watched.page.evaluate("document.documentElement.dataset.theme") != theme
    context.close()
    assert watched.faults == []


def test_a_viewer_logs_in_and_can_not_approve(
    chromium: Browser, service: MemoryService, users: Users
) -> None:
    with background(service, WebSettings(users=users)) as here:
        context = chromium.new_context(viewport=WIDE)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(f"{here.url}#plans")
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_have_text("no user has this token")
        page.get_by_label("Token").fill(TOKENS[Role.VIEWER])
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_text("an operator can approve it")).to_be_visible()
        expect(page.get_by_role("button", name="Approve")).to_have_count(0)
        page.get_by_title("Log out").click()
        expect(page.get_by_label("Token")).to_be_visible()
        context.close()


def test_a_page_finds_its_server_again_after_a_restart(chromium: Browser, service: MemoryService) -> None:
    context = chromium.new_context(viewport=WIDE)  # type: ignore[arg-type]
    page = context.new_page()
    with background(service, WebSettings()) as here:
        port = int(here.url.rsplit(":", 1)[1].strip("/"))
        page.goto(here.url)
        expect(page.get_by_text("12 brokers")).to_be_visible()
    expect(page.get_by_text("no connection")).to_be_visible()
    service = MemoryService(service.current, service.goal)  # an event of asyncio belongs to its loop
    with background(service, WebSettings(port=port)):
        expect(page.get_by_text("no connection")).to_have_count(0, timeout=15_000)
    context.close()
