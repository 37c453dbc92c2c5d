"""The result of the demo: a summary for people, an object for programs."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from regraft.demo.story import Period, Story

PERIODS = {
    "before": "before",
    "during": "during the change",
    "after": "after it",
    "healing": "while it heals",
    "healed": "healed",
}


def summary(story: Story) -> str:
    """The summary for people."""
    counts, change, healing = story.counts, story.change, story.healing
    lines = [
        "",
        f"published   {counts.published:>9,}   events of {story.publishers} publishers",
        f"delivered   {counts.delivered:>9,}   of {counts.due:,} due to {story.subscribers} subscribers",
        f"lost        {counts.lost:>9,}",
        f"duplicated  {counts.duplicated:>9,}",
        f"reordered   {counts.reordered:>9,}",
    ]
    if counts.unwanted or counts.unacknowledged:
        lines.append(f"unwanted    {counts.unwanted:>9,}   not acknowledged {counts.unacknowledged:,}")
    lines += ["", f"{'':<18}{'routing cost':>13}{'p50':>10}{'p99':>10}{'worst':>10}{'deliveries':>13}"]
    lines += [_row(period) for period in story.periods]
    measured = f", measured {change.measured_gain:.1%}" if change.measured_gain is not None else ""
    lines += [
        "",
        f"change   {change.steps} steps, {change.actions} shifts in {change.seconds:.1f} s; "
        f"{change.gain:.1%} less routing cost expected{measured}",
        f"         {change.waited:.1f} s from the end of the window to the first shift, "
        f"{change.measuring:.1f} s of them on Spark",
        f"         {change.canaries['published']} canaries of the deployer, {change.canaries['lost']} lost",
        f"healing  {healing.victim} ({healing.links} links) killed: {healing.by} stood in after "
        f"{1000 * healing.deputy:.0f} ms, healed after {healing.removed:.1f} s",
        f"time     {story.seconds:.0f} s in all",
    ]
    return "\n".join(lines)


def _row(period: Period) -> str:
    cost = f"{period.cost:.2f} ms" if period.cost is not None else "-"
    times = "".join(f"{_ms(each):>10}" for each in (period.p50_ms, period.p99_ms, period.worst_ms))
    return f"{PERIODS[period.name]:<18}{cost:>13}{times}{period.deliveries:>13,}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} ms" if value < 100 else f"{value:.0f} ms"


def answer(story: Story, written: Iterable[Path]) -> dict[str, Any]:
    """The object for programs."""
    document: dict[str, Any] = msgspec.to_builtins(story)
    return document | {"flawless": story.flawless, "files": [str(path) for path in written]}
