"""The demo's report: one self-contained HTML file; the same as JSON, and the topologies."""

import html
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regraft.cli import demo_plots
from regraft.cli.demo_summary import PERIODS, answer
from regraft.demo.network import reachable
from regraft.demo.story import Period, Sample, Story
from regraft.model import Ends, Topology
from regraft.model.files import write_text
from regraft.model.topology_files import write_topology
from regraft.serve.network_facts import NetworkFacts

if TYPE_CHECKING:
    from regraft.demo.running import Scene

STYLE = """
:root { color-scheme: light }
body { font: 15px/1.5 system-ui, sans-serif; color: #27323f; background: #f4f6f8; margin: 0 }
main { max-width: 1080px; margin: 0 auto; padding: 28px 20px 60px }
h1 { font-size: 26px; margin: 0 0 4px } h2 { font-size: 18px; margin: 0 0 10px }
p { margin: 0 0 10px } .soft { color: #66727f }
section, .card { background: #fff; border: 1px solid #e1e6eb; border-radius: 10px }
section { padding: 18px 20px; margin: 16px 0 }
.cards, .maps { display: grid; gap: 12px }
.cards { grid-template-columns: repeat(auto-fit, minmax(132px, 1fr)); margin: 18px 0 }
.card { padding: 12px 14px } .card b { display: block; font-size: 24px; line-height: 1.2 }
.good b { color: #1a9850 } .bad b { color: #d73027 }
.maps { grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)) }
.maps h3 { font-size: 14px; margin: 0 } .scroll { overflow-x: auto }
svg { width: 100%; height: auto; max-width: 1000px } .narrow svg { max-width: 460px }
table { border-collapse: collapse; width: 100% }
th, td { padding: 5px 10px; text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left } tr + tr td { border-top: 1px solid #eceff2 }
th { color: #66727f; font-weight: 600; font-size: 13px }
.log td { text-align: left; white-space: normal; vertical-align: top }
.log td:first-child { white-space: nowrap }
code { font: 13px ui-monospace, monospace }
.key i { display: inline-block; width: 22px; height: 0; border-top: 3px solid; margin: 0 6px 4px 14px }
"""


def write_report(
    story: Story,
    seen: "Scene",
    samples: Sequence[Sample],
    published: Sequence[tuple[float, int]],
    out: Path,
) -> list[Path]:
    """Writes the report and returns its files, the HTML first."""
    page, summary = out / "report.html", out / "summary.json"
    before, after, healed = (out / f"{name}.json" for name in ("before", "after", "healed"))
    write_text(page, report(story, seen.net, samples, published))
    write_topology(_tree(seen.net, story.before), before)
    write_topology(_tree(seen.net, story.after), after)
    write_topology(_tree(seen.net, story.healed, story.healing.victim), healed)
    written = [page, summary, before, after, healed]
    write_text(summary, json.dumps(answer(story, written), indent=1) + "\n")
    return written


def _tree(net: Topology, links: Iterable[Ends], without: str = "") -> Topology:
    return NetworkFacts(reachable(net)).annotated(Topology.of(links, [id for id in net.ids if id != without]))


def report(
    story: Story, net: Topology, samples: Sequence[Sample], published: Sequence[tuple[float, int]]
) -> str:
    change, healing = story.change, story.healing
    parts = [
        f"<h1>Regraft demo</h1><p class=soft>{_intro(story)}</p>",
        _cards(story),
        "<section><h2>What the clients saw</h2>",
        f"<div class=scroll>{_table(story.periods)}</div>",
        demo_plots.latencies(story, samples),
        demo_plots.rates(story, samples, published),
        "</section><section><h2>The overlay</h2>",
        "<p class='soft key'>Grey: lines of the network.<i style='color:#27323f'></i>link"
        "<i style='color:#1a9850'></i>new<i style='color:#d73027;border-top-style:dashed'></i>gone</p>",
        f"<div class=maps><div><h3>Before</h3>{demo_plots.topology(net, story.before, story.before)}</div>",
        f"<div><h3>After the change</h3>{demo_plots.topology(net, story.after, story.before)}</div></div>",
        "</section>",
        f"<section><h2>The change</h2><p>{_change(story)}</p>",
        f"<div class=narrow>{demo_plots.costs(story)}</div>",
        _steps(change.moves),
        f"</section><section><h2>The crash</h2><p>{_healing(story)}</p><div class=narrow>",
        f"{demo_plots.topology(net, story.healed, story.after, healing.victim)}</div></section>",
        f"<section><h2>What Spark measured</h2><div class=scroll>{_windows(story)}</div></section>",
        f"<section><h2>What the loop decided</h2>{_log(story)}</section>",
        f"<p class=soft>{_sources()}</p>",
    ]
    head = "<meta charset=utf-8><meta name=viewport content='width=device-width'><title>Regraft demo</title>"
    return f"<!doctype html><html lang=en>{head}<style>{STYLE}</style><main>{''.join(parts)}</main></html>\n"


def _intro(story: Story) -> str:
    return (
        f"{story.brokers} brokers, each a process on one machine, joined as a tree; links take as long as "
        f"light in the fibre between their cities. {story.publishers} cities publish {story.rate:.0f} "
        f"events a second, {story.subscribers} subscribe. Everything took {story.seconds:.0f} s."
    )


def _cards(story: Story) -> str:
    counts = story.counts
    cards = [("published", counts.published, ""), ("delivered", counts.delivered, "")]
    wrong = [("lost", counts.lost), ("duplicated", counts.duplicated), ("reordered", counts.reordered)]
    cards += [(name, count, "bad" if count else "good") for name, count in wrong]
    made = "".join(f"<div class='card {kind}'><b>{count:,}</b>{name}</div>" for name, count, kind in cards)
    gain = story.change.measured_gain if story.change.measured_gain is not None else story.change.gain
    made += f"<div class='card good'><b>−{gain:.0%}</b>routing cost</div>"
    made += f"<div class=card><b>{story.healing.removed:.1f} s</b>to heal a crash</div>"
    return f"<div class=cards>{made}</div>"


def _table(periods: Iterable[Period]) -> str:
    def number(value: float | None, digits: int = 1) -> str:
        return "–" if value is None else f"{value:,.{digits}f}"

    rows = "".join(
        f"<tr><td>{PERIODS[each.name]}<td>{each.ended - each.began:.1f} s<td>{each.deliveries:,}"
        f"<td>{number(each.cost, 2)}<td>{number(each.p50_ms)}<td>{number(each.p99_ms)}"
        f"<td>{number(each.worst_ms)}"
        for each in periods
    )
    head = "<tr><th><th>lasted<th>deliveries<th>routing cost, ms<th>p50, ms<th>p99, ms<th>worst, ms"
    return f"<table>{head}{rows}</table>"


def _change(story: Story) -> str:
    change = story.change
    measured = (
        f", and {change.measured_gain:.1%} were measured in the first window after it"
        if change.measured_gain is not None
        else ""
    )
    return (
        f"One window of traffic was enough: {change.waited:.1f} s after its end ({change.measuring:.1f} s of "
        f"them on Spark) the first link moved. {change.steps} steps with {change.actions} shifts took "
        f"{change.seconds:.1f} s. "
        f"{change.gain:.1%} less routing cost were expected{measured}. Plan <code>{change.plan[:12]}</code>, "
        f"designed by {html.escape(change.method)}, planned by {html.escape(change.planner)}."
    )


def _steps(moves: Iterable[Iterable[str]]) -> str:
    rows = "".join(
        f"<tr><td>step {number}<td><code>{html.escape(', '.join(step))}</code>"
        for number, step in enumerate(moves, 1)
    )
    return f"<table class=log>{rows}</table>"


def _healing(story: Story) -> str:
    healing = story.healing
    victim, by = html.escape(healing.victim), html.escape(healing.by)
    text = (
        f"The process of {victim}, the broker with the most links ({healing.links}), was killed with "
        f"<code>kill -9</code>. After {1000 * healing.deputy:.0f} ms {by} stood in for it with all it had "
        f"promised; after {healing.removed:.1f} s its links and clients were at others."
    )
    phases = {
        "suspected": healing.timeout_ms,
        "granted": healing.vote_ms,
        "elected": healing.election_ms,
        "adapted": healing.adaptation_ms,
    }
    known = [f"{name} {ms:.0f} ms" for name, ms in phases.items() if ms is not None]
    rules = f" By rule {html.escape(', '.join(healing.rules))}:" if healing.rules else ""
    return text + (f"{rules} {', '.join(known)}." if known else "")


def _windows(story: Story) -> str:
    rows = "".join(
        f"<tr><td>{each['start'] - story.began:.0f} to {each['end'] - story.began:.0f} s"
        f"<td>{each['publications']:,}<td>{each['deliveries']:,}<td>{each['records']:,}"
        f"<td>{_or_dash(each['p99_ms'])}<td>{_or_dash(each['cost'], 2)}<td>{each['seconds']:.1f} s"
        for each in story.windows
    )
    head = (
        "<tr><th>window<th>publications<th>deliveries<th>records read<th>p99, ms<th>routing cost, ms<th>took"
    )
    return f"<table>{head}{rows}</table>"


def _or_dash(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _log(story: Story) -> str:
    rows = "".join(
        f"<tr><td>{each.at - story.began:.1f} s<td>{html.escape(each.kind)}<td>{html.escape(each.text)}"
        for each in story.decisions
    )
    return f"<table class=log>{rows}</table>"


def _sources() -> str:
    return (
        "Network: BICS, Internet Topology Zoo (Knight et al. 2011, CC BY 4.0). Demands: COST 266, SNDlib "
        "(Orlowski et al. 2010). Routing cost of an event: the latencies of all links that it crosses, and "
        "0.1 ms for each broker."
    )
