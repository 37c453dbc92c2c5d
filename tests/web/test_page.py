"""What the page shows is what is meant: units, verdicts, colours, names, plurals; wide and narrow."""

import re
from collections.abc import Iterator

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.web.asking import TOKENS
from tests.web.test_dashboard import CHROMIUM, WIDE, Watched, until, until_brokers, until_links

from regraft.serve import views as v
from regraft.testing.web_server import ARGUMENTS, Background, background
from regraft.testing.web_service import MemoryService
from regraft.web.settings import WebSettings
from regraft.web.users import Role, Users

pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; as root: apt-get install chromium"),
]
GRAPH = "document.querySelector('main:not([hidden]) .graph').graph"
CROSSED = """(graph) => graph.nodes().map((node) => {
  const box = node.boundingBox({ includeNodes: false, includeEdges: false, includeOverlays: false });
  const inside = (x, y) => x > box.x1 + 3 && x < box.x2 - 3 && y > box.y1 + 3 && y < box.y2 - 3;
  return graph.edges().filter((edge) => {
    const [a, b] = [edge.source().position(), edge.target().position()];
    const steps = [...Array(201).keys()].map((n) => n / 200);
    return steps.some((part) => inside(a.x + (b.x - a.x) * part, a.y + (b.y - a.y) * part));
  }).map((edge) => `${node.id()} on ${edge.source().id()}-${edge.target().id()}`);
}).flat()"""
"""Which names lie on which links: points of each link against the box of each name."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def served(service: MemoryService) -> Iterator[Background]:
    with background(service, WebSettings()) as here:
        yield here


@pytest.fixture
def page(chromium: Browser, served: Background) -> Iterator[Page]:
    context = chromium.new_context(viewport=WIDE)  # type: ignore[arg-type]
    watched = Watched(context.new_page(), served.url)
    watched.page.goto(served.url)
    yield watched.page
    context.close()
    assert watched.faults == []


def colour(page: Page, selector: str) -> str:
    return str(page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).backgroundColor"))


def test_queues_are_shown_in_bytes(page: Page) -> None:
    queue = page.locator(".tile", has_text="Longest queue")
    expect(queue.locator(".value")).to_have_text(re.compile(r"^[\d.,]+ (B|KiB|MiB)$"))
    expect(queue).not_to_contain_text("messages")
    page.goto(f"{page.url}#history")
    card = page.locator(".card", has_text="Longest queue of a broker")
    expect(card.locator(".aside")).to_have_text("bytes")
    expect(card).not_to_contain_text("messages")


def test_a_soft_goal_that_gets_worse_has_no_tick_and_shows_both_numbers(
    page: Page, served: Background, service: MemoryService
) -> None:
    worse = v.VerdictView(goal="balance", hard=False, kept=True, reason="", number=3.2, before=1.6)
    better = v.VerdictView(goal="routing_cost", hard=False, kept=True, reason="", number=500.0, before=900.0)
    degree = v.VerdictView(goal="degree", hard=True, kept=True, reason="at most 12", number=4, before=6)
    service._proposal = msgspec.structs.replace(service._proposal, verdicts=(degree, better, worse))
    page.reload()
    page.goto(f"{page.url}#plans")
    rows = page.locator(".goals tbody tr")
    expect(rows).to_have_count(3)
    cells = [row.locator("td").all_inner_texts() for row in rows.all()]
    assert cells == [
        ["✓", "6", "4", "kept"],
        ["↓", "900", "500", "better"],
        ["↑", "1.6", "3.2", "worse"],
    ]
    expect(rows.nth(2).locator(".yes")).to_have_count(0)


def test_a_busy_broker_and_a_slow_link_have_colours_of_their_own_and_both_are_explained(page: Page) -> None:
    until_brokers(page, 12)
    assert page.evaluate(f"{GRAPH}.nodes('.busy').length") > 0
    expect(page.locator(".legend")).to_contain_text("busy")
    links = {colour(page, f".legend .{level}") for level in ("l0", "l1", "l2", "l3")}
    busy = colour(page, ".legend .busy")
    assert len(links) == 4
    assert busy not in links
    assert page.evaluate(f"{GRAPH}.nodes('.busy')[0].style('background-color')").replace(" ", "") == (
        busy.replace(" ", "")
    )


@pytest.mark.parametrize("width", [1400, 420])
def test_no_name_lies_on_a_link(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.reload()
    until_brokers(page, 12)
    until(page, f"!{GRAPH}.elements().some((each) => each.animated())")
    assert page.evaluate(f"({CROSSED})({GRAPH})") == []


@pytest.mark.parametrize("width", [420, 360])
def test_in_a_narrow_window_every_tab_is_in_sight(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    tabs = page.locator(".top nav a")
    expect(tabs).to_have_count(6)
    for tab in tabs.all():
        box = tab.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width, tab.inner_text()


def test_terms_are_words_and_one_thing_is_no_plural(
    page: Page, served: Background, service: MemoryService
) -> None:
    expect(page.locator(".tile", has_text="Lost")).to_contain_text("in 1 transformation")
    expect(page.locator(".tile", has_text="Lost")).not_to_contain_text("1 transformations")
    for view in ("overlay", "plans", "history", "decisions"):
        page.goto(f"{served.url}#{view}")
        expect(page.locator("main:not([hidden]) .card").first).to_be_visible()
        if view == "plans":
            expect(page.get_by_text("Who gains")).to_be_visible()
        text = page.locator("main:not([hidden])").inner_text()
        assert not re.findall(r"\b[a-z]+_[a-z_]+\b", text), view
        assert not re.findall(r"\b1 (?:actions|steps|windows|brokers|links|messages)\b", text), view


def test_in_mode_observe_the_page_shows_what_the_loop_would_do_and_no_button_for_it(
    page: Page, served: Background, service: MemoryService
) -> None:
    page.get_by_role("button", name="observe").click()
    expect(page.locator(".top .badge")).to_have_text("would propose")
    expect(page.locator(".callout")).to_contain_text("The loop would change this")
    page.get_by_role("link", name="Look at the plan").click()
    expect(page.locator(".trees h2")).to_have_text("What the loop would do")
    until(page, "document.querySelectorAll('.trees .graph').length === 2")
    now, then = set(service.current.by_ends), set(service.goal.by_ends)
    until_links(page, now & then, ".trees .now")
    until_links(page, then, ".trees .then")
    assert _links(page, ".now", "removed") == now - then
    assert _links(page, ".then", "added") == then - now
    expect(page.locator(".summary").first).to_contain_text("less routing cost")
    expect(page.locator(".detail")).to_contain_text("Seen in 3 windows in a row, 3 are needed")
    cost = page.locator(".goals tr", has_text="routing cost").locator("td")
    assert [cost.nth(n).inner_text() for n in (0, 3)] == ["↓", "better"]
    expect(page.get_by_role("button", name="Next step")).to_be_visible()
    for name in ("Approve", "Reject"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    page.get_by_role("button", name="propose", exact=True).click()
    expect(page.get_by_role("button", name="Approve")).to_be_visible()


def _links(page: Page, picture: str, kind: str) -> set[tuple[str, str]]:
    graph = f"document.querySelector('.trees {picture} .graph').graph"
    found = page.evaluate(
        f"{graph}.edges('.{kind}').map((edge) => [edge.data('source'), edge.data('target')])"
    )
    return {(min(pair), max(pair)) for pair in found}


def test_what_has_to_prove_itself_is_shown_while_it_does(
    page: Page, served: Background, service: MemoryService
) -> None:
    service.candidate = v.CandidateView(gain=0.21, improves="routing_cost", windows=1, windows_needed=3)
    service._proposal = msgspec.structs.replace(service._proposal, state="withdrawn")
    page.reload()
    expect(page.locator(".confirming")).to_contain_text("21 % less routing cost; seen in 1 of 3 windows")


def test_the_reference_asks_for_a_token_and_then_shows_and_tries_requests(
    chromium: Browser, service: MemoryService, users: Users
) -> None:
    with background(service, WebSettings(users=users)) as here:
        context = chromium.new_context(viewport=WIDE)  # type: ignore[arg-type]
        watched = Watched(context.new_page(), here.url)
        page = watched.page
        page.goto(f"{here.url}docs")
        page.get_by_label("Token").fill(TOKENS[Role.VIEWER])
        page.get_by_role("button", name="Log in").click()
        approve = page.locator(".operation", has_text="/api/v1/plans/{sha256}/approve")
        expect(approve.locator("summary .badge")).to_have_text("operator")
        expect(approve.get_by_role("button", name="Try it")).to_have_count(0)
        state = page.locator(".operation", has_text="/api/v1/state")
        state.locator("summary").click()
        expect(state).to_contain_text('"would_propose"?: string | null')
        state.get_by_role("button", name="Try it").click()
        expect(state.locator(".answer")).to_contain_text('"overlay": "test"')
        context.close()
        assert watched.faults == []
