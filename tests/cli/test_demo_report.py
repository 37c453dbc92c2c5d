"""What is shown of a story: the summary, the object for programs, the page that needs nothing else."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.cli.demo_story import BEGAN, NET, TREE, samples, story

from regraft.cli import demo_plots
from regraft.cli.demo_report import report, write_report
from regraft.cli.demo_summary import answer, summary
from regraft.cli.demo_view import DemoView, LineView, LiveView, figures, sparkline, tree_of, view_for
from regraft.demo.demands import workload
from regraft.demo.running import Scene
from regraft.demo.tally import Counts
from regraft.model.topology_files import read_topology

PUBLISHED = [(BEGAN + each / 4, 38) for each in range(240)]


@pytest.fixture(scope="module")
def page() -> str:
    return report(story(), NET, samples(), PUBLISHED)


def scene() -> Scene:
    return Scene(NET, TREE, workload(NET.ids, 150.0), lambda text: None, tuple(TREE.by_ends), TREE.ids)


def test_the_summary_says_what_was_lost_and_how_long_everything_took() -> None:
    text = summary(story(Counts(published=10, due=70, delivered=67, lost=3, unacknowledged=2)))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "lost 3" in lines
    assert "unwanted 0 not acknowledged 2" in lines
    assert any(line.startswith("before 71.50 ms") for line in lines)
    assert any("Paris stood in after 120 ms, healed after 2.5 s" in line for line in lines)
    assert any("8.4 s from the end of the window to the first shift" in line for line in lines)


def test_the_object_for_programs_is_json_and_says_whether_it_was_flawless() -> None:
    good = json.loads(json.dumps(answer(story(), [Path("a")])))
    bad = answer(story(Counts(published=1, due=1, lost=1)), [])
    assert (good["flawless"], bad["flawless"], good["files"]) == (True, False, ["a"])
    assert [each["name"] for each in good["spells"]] == ["before", "during", "after", "healing", "healed"]


def test_the_page_needs_nothing_from_elsewhere(page: str) -> None:
    for mark in ("src=", "href=http", "url(http", "@import", "<script", "<link"):
        assert mark not in page.replace('xlink:href="#', "")
    assert page.count("<svg") == 6


def test_what_comes_from_outside_is_escaped(page: str) -> None:
    assert "shift(&lt;b&gt;, b, c)" in page
    assert "costs &lt;less&gt;" in page


def test_pictures_are_well_formed() -> None:
    for svg in (
        demo_plots.latencies(story(), samples()),
        demo_plots.rates(story(), samples(), PUBLISHED),
        demo_plots.costs(story()),
        demo_plots.topology(NET, TREE.by_ends, [], "Paris"),
    ):
        assert ElementTree.fromstring(svg).tag.endswith("svg")


def test_files_are_written_that_other_commands_read(tmp_path: Path) -> None:
    written = write_report(story(), scene(), samples(), PUBLISHED, tmp_path)
    assert [path.name for path in written] == [
        "report.html",
        "summary.json",
        "before.json",
        "after.json",
        "healed.json",
    ]
    assert set(read_topology(tmp_path / "before.json").by_ends) == set(TREE.by_ends)
    assert json.loads((tmp_path / "summary.json").read_text())["flawless"] is True


def test_a_terminal_sees_it_live_a_pipe_gets_lines_a_program_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert type(view_for(quiet=True)) is DemoView
    lines = view_for(quiet=False)
    assert isinstance(lines, LineView)
    lines.say("ZooKeeper runs")
    assert capsys.readouterr().out.endswith(" s  ZooKeeper runs\n")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert isinstance(view_for(quiet=False), LiveView)


def test_the_live_view_draws_before_and_while_traffic_flows() -> None:
    from rich.console import Console

    console, seen, live = Console(width=120, record=True), scene(), LiveView()
    live.say("a line")
    console.print(live._view(seen))
    stage: Any = type("Stage", (), {"samples": samples(), "published": PUBLISHED})()
    seen.stage, seen.victim = stage, "Paris"
    console.print(tree_of(seen), *figures(seen))
    text = console.export_text()
    assert "a line" in text
    assert "killed     Paris" in text
    assert all(id in text for id in TREE.ids)


def test_a_sparkline_is_as_high_as_its_values() -> None:
    assert sparkline([0.0, 4.0, 8.0]) == " ▄█"
    assert sparkline([0.0, 0.0]) == "  "
