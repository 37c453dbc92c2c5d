"""Shows the demo while it runs: live on a terminal, as lines elsewhere, not at all with --json."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import click

from regraft.cli.printing import shown

if TYPE_CHECKING:
    from rich.console import RenderableType

    from regraft.demo.running import Scene

REFRESH_SECONDS = 0.25
RECENT_SECONDS = 3.0
BARS = " ▁▂▃▄▅▆▇█"
WIDTH = 60
NOTES = 8


def view_for(quiet: bool) -> "DemoView":
    if quiet:
        return DemoView()
    return LiveView() if sys.stdout.isatty() else LineView()


class DemoView:
    """Shows nothing."""

    def say(self, text: str) -> None:
        pass

    def off(self) -> None:
        """Stop drawing; from now on, print lines only."""

    @asynccontextmanager
    async def on(self, seen: "Scene") -> AsyncIterator[None]:
        yield


class LineView(DemoView):
    """Prints lines with the seconds since the start."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        click.echo(f"{time.monotonic() - self._began:6.1f} s  {text}")
        sys.stdout.flush()


class LiveView(DemoView):
    """Draws topology, rates and latencies several times a second."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._notes: list[str] = []
        self._lines: LineView | None = None
        self._ended = asyncio.Event()

    def say(self, text: str) -> None:
        if self._lines is not None:
            self._lines.say(text)
        self._notes.append(f"{time.monotonic() - self._began:6.1f} s  {text}")

    def off(self) -> None:
        self._lines = LineView()
        self._ended.set()

    @asynccontextmanager
    async def on(self, seen: "Scene") -> AsyncIterator[None]:
        drawing = asyncio.create_task(self._draw(seen))
        try:
            yield
        finally:
            drawing.cancel()
            await asyncio.gather(drawing, return_exceptions=True)

    async def _draw(self, seen: "Scene") -> None:
        from rich.live import Live as RichLive

        with RichLive(auto_refresh=False, screen=False) as live, contextlib.suppress(asyncio.CancelledError):
            while not self._ended.is_set():
                live.update(self._view(seen), refresh=True)
                await asyncio.sleep(REFRESH_SECONDS)

    def _view(self, seen: "Scene") -> "RenderableType":
        from rich.console import Group
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 3))
        grid.add_row(tree_of(seen), Group(*figures(seen), Text(), *map(Text, self._notes[-NOTES:])))
        title = f"Regraft demo · {time.monotonic() - self._began:.0f} s · {seen.act}"
        return Panel(grid, title=title, title_align="left")


def tree_of(seen: "Scene") -> "RenderableType":
    """The current overlay as a tree of text; links that were not there at the start end in +."""
    from rich.text import Text
    from rich.tree import Tree

    from regraft.cli.layout import breadth_first, centre
    from regraft.model import Topology, ends

    now = Topology.of(seen.links, seen.brokers)
    order, parent = breadth_first(now, centre(now))
    branches: dict[str | None, Tree] = {}
    for id in order:
        above = parent[id]
        if above is None:
            branches[id] = Tree(Text(shown(id), "bold"), guide_style="dim")
        else:
            new = ("", "") if ends(above, id) in seen.tree.by_ends else (" +", "bold green")
            branches[id] = branches[above].add(Text.assemble(shown(id), new))
    return branches[order[0]]


def figures(seen: "Scene") -> "list[RenderableType]":
    """Lines with rates, latencies, and the p99 of every second."""
    from rich.text import Text

    if seen.stage is None:
        return [Text("starting")]
    now = time.time()
    recent = sorted(ms for sent, ms in _since(seen, now - RECENT_SECONDS))
    published = sum(count for at, count in seen.stage.published if at > now - RECENT_SECONDS)
    rows: list[RenderableType] = [
        Text(
            f"published  {sum(count for _, count in seen.stage.published):>8,}"
            f"   {published / RECENT_SECONDS:6.0f}/s"
        ),
        Text(f"delivered  {len(seen.stage.samples):>8,}   {len(recent) / RECENT_SECONDS:6.0f}/s"),
    ]
    if recent:
        p50, p99 = recent[len(recent) // 2], recent[int(0.99 * (len(recent) - 1))]
        rows.append(Text(f"latency    p50 {p50:.1f} ms   p99 {p99:.1f} ms"))
        rows.append(Text.assemble("p99, a second each  ", (sparkline(per_second(seen, now)), "cyan")))
    if seen.operation is not None and seen.operation.ended is None:
        operation = seen.operation
        done, all = operation.actions_done, max(1, operation.actions)
        rows.append(Text.assemble("shifts     ", ("█" * done, "green"), ("░" * (all - done), "dim")))
    if seen.victim:
        rows.append(Text(f"killed     {seen.victim}", "red"))
    return rows


def _since(seen: "Scene", start: float) -> list[tuple[float, float]]:
    """Samples since `start`. They are nearly in order, so only the last ones are searched."""
    assert seen.stage is not None
    return [sample for sample in seen.stage.samples[-50_000:] if sample[0] > start]


def per_second(seen: "Scene", now: float) -> list[float]:
    """p99 of the last seconds; 0 where nothing was delivered."""
    groups: list[list[float]] = [[] for _ in range(WIDTH)]
    for sent, ms in _since(seen, now - WIDTH):
        groups[min(WIDTH - 1, max(0, int(sent - (now - WIDTH))))].append(ms)
    return [sorted(group)[int(0.99 * (len(group) - 1))] if group else 0.0 for group in groups]


def sparkline(values: list[float]) -> str:
    most = max(values, default=0.0) or 1.0
    return "".join(BARS[round(value / most * (len(BARS) - 1))] for value in values)
