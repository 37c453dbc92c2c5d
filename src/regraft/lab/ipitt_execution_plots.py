"""Figure 6 a-j as pictures: one PNG each, with what IPITT prints about it as a dotted line."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import numpy.typing as npt

matplotlib.use("Agg")
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from regraft.lab.ipitt_execution import CENTRE, OURS, PLANNERS, THEIRS, Point, Rows
from regraft.lab.ipitt_execution_metrics import Shift
from regraft.lab.ipitt_execution_printed import Axis, Quantity, means, on, values

STYLE = {OURS: ("tab:green", "o", "fast (ours)"), THEIRS: ("tab:gray", "v", "best-first (BFS)")}
RED = "tab:red"
SIZE = (8.5, 4.4)


class Panel(NamedTuple):
    """One picture. `hollow` is a second quantity, drawn with hollow marks.

    `printed` is the label of a dotted line for what IPITT prints: at each point, the planner and quantity of
    `printed_of`, multiplied by `times`, plus `plus`.
    """

    name: str
    axis: Axis
    quantity: Quantity
    label: str
    hollow: Quantity | None = None
    printed: str = ""
    printed_of: tuple[str, Quantity] = (OURS, "execution_s")
    times: float = 1.0
    plus: float = 0.0
    logarithmic: bool = False


def _latency(name: str, axis: Axis, printed: str = "", plus: float = 0.0) -> Panel:
    of: tuple[str, Quantity] = (OURS, "unaffected_p99_ms")
    label = "99th percentile of delivery latency (ms)"
    return Panel(name, axis, "affected_p99_ms", label, "unaffected_p99_ms", printed, of, 1.0, plus, True)


def _time(name: str, axis: Axis, printed: str = "", times: float = 1.0) -> Panel:
    return Panel(
        name, axis, "execution_s", "plan execution time (s)", None, printed, (THEIRS, "execution_s"), times
    )


def _queue(name: str, axis: Axis) -> Panel:
    label = "growth of queues over a shift, p99 (publications)"
    return Panel(name, axis, "queue_p99", label, "queue_most_p99")


PANELS = (
    _latency("6a", "brokers", "IPITT: at most 2 s above unaffected", 2_000.0),
    _time("6b", "brokers", "IPITT: at best 55 % below BFS", 0.45),
    _queue("6d", "brokers"),
    _latency("6e", "change", "IPITT: at most 2.2 s above unaffected", 2_200.0),
    _time("6f", "change", "IPITT: at best 60 % below BFS", 0.40),
    _queue("6g", "change"),
    _latency("6h", "subscribers"),
    _time("6i", "subscribers"),
    _queue("6j", "subscribers"),
)
HOLLOW: dict[Quantity, tuple[str, str]] = {
    "unaffected_p99_ms": ("affected", "unaffected"),
    "queue_most_p99": ("at its end", "at the most"),
}


def axis_label(axis: Axis, centre: Point) -> str:
    brokers, change, subscribers = centre
    return {
        "brokers": f"brokers ({change} % of the links changed, {subscribers:,} subscribers)",
        "change": f"% of the links changed ({brokers} brokers, {subscribers:,} subscribers)",
        "subscribers": f"subscribers ({brokers} brokers, {change} % of the links changed)",
    }[axis]


def draw(panel: Panel, rows: Rows, path: Path, centre: Point = CENTRE) -> None:
    figure = Figure(figsize=SIZE, layout="constrained")
    draw_panel(figure.add_subplot(), panel, rows, centre)
    figure.savefig(path, dpi=150)


def draw_panel(axes: Any, panel: Panel, rows: Rows, centre: Point = CENTRE) -> None:
    """A curve through the means for each plan, and every run as a dot."""
    solid, hollow = HOLLOW[panel.hollow] if panel.hollow else ("", "")
    for planner in PLANNERS:
        _curve(axes, panel, rows, planner, panel.quantity, solid, centre)
        if panel.hollow:
            _curve(axes, panel, rows, planner, panel.hollow, hollow, centre)
    if panel.printed:
        base = means(panel.axis, rows, *panel.printed_of, centre)
        line = [panel.times * value + panel.plus for value in base.values()]
        axes.plot(list(base), line, color=RED, linestyle=":", label=panel.printed)
    axes.set_xlabel(axis_label(panel.axis, centre))
    axes.set_ylabel(panel.label)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ticks = sorted({point for planner in PLANNERS for point in on(panel.axis, rows, planner, centre)})
    axes.set_xticks(ticks)
    if panel.logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.yaxis.set_minor_formatter(FuncFormatter(_two_and_five))
    else:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.set_title(f"IPITT Figure {panel.name}", loc="left", fontsize="medium")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0))


def _two_and_five(value: float, _: int) -> str:
    """Labels for the minor ticks: only those that begin with 2 or 5, or they would overlap."""
    text = f"{value:,g}"
    return text if text.lstrip("0.")[0] in "25" else ""


def _curve(
    axes: Any, panel: Panel, rows: Rows, planner: str, quantity: Quantity, what: str, centre: Point
) -> None:
    colour, marker, name = STYLE[planner]
    other = quantity != panel.quantity
    curve = means(panel.axis, rows, planner, quantity, centre)
    if not curve:
        return
    label = f"{name}, {what}" if what else name
    face = "white" if other else colour
    line = "--" if other else "-"
    axes.plot(
        list(curve),
        list(curve.values()),
        color=colour,
        marker=marker,
        markerfacecolor=face,
        linestyle=line,
        label=label,
    )
    for point, at in on(panel.axis, rows, planner, centre).items():
        if len(found := values(at, quantity)) > 1:
            axes.plot([point] * len(found), found, color=colour, marker=".", linestyle="none", alpha=0.4)


class Watched(NamedTuple):
    """What one client received while one plan was carried out: when each was sent (s), how late (ms)."""

    sent: npt.NDArray[np.float64]
    late_ms: npt.NDArray[np.float64]
    affected: npt.NDArray[np.bool_]
    shifts: list[Shift]


def lanes(shifts: Sequence[Shift]) -> list[int]:
    """A row for each shift, so that those that overlap in time lie side by side."""
    ends: list[float] = []
    found: list[int] = []
    for shift in sorted(shifts, key=lambda each: each.begun):
        lane = next((n for n, ended in enumerate(ends) if ended <= shift.begun), len(ends))
        ends[lane : lane + 1] = [shift.ended]
        found.append(lane)
    return found


def draw_client(watched: dict[str, Watched], path: Path, about: str) -> None:
    """Figure 6c: the best-first search's plan above, ours below it; the red marks on top are shifts."""
    figure = Figure(figsize=(9.0, 6.0), layout="constrained")
    both = figure.subplots(2, 1, sharex=True, sharey=True)
    highest = max(float(each.late_ms.max(initial=1.0)) for each in watched.values())
    last = max(_length(each) for each in watched.values())
    rows = max(max(lanes(each.shifts)) + 1 for each in watched.values())
    for axes, planner in zip(both, (THEIRS, OURS), strict=True):
        seen = watched[planner]
        _deliveries(axes, seen)
        _shifts(axes, seen, 1.1 * highest, 0.4 * highest / max(rows, 8))
        title = f"{STYLE[planner][2]}: {len(seen.shifts)} shifts in {_length(seen):.1f} s"
        axes.set_title(title, fontsize="medium", loc="left")
        axes.set_ylabel("delivery latency (ms)")
        axes.grid(visible=True, alpha=0.3)
        axes.set_xlim(-3.0, last + 3.0)
        axes.set_ylim(0, 1.55 * highest)
    both[1].set_xlabel("seconds since the first shift began")
    both[0].legend(fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    figure.suptitle(f"IPITT Figure 6c: {about}", fontsize="medium")
    figure.savefig(path, dpi=150)


def _deliveries(axes: Any, seen: Watched) -> None:
    at = seen.sent - _start(seen)
    for chosen, colour, label in (
        (~seen.affected, "tab:blue", "not affected"),
        (seen.affected, "tab:orange", "affected"),
    ):
        axes.plot(at[chosen], seen.late_ms[chosen], ".", color=colour, label=label)


def _shifts(axes: Any, seen: Watched, base: float, height: float) -> None:
    start = _start(seen)
    ordered = sorted(seen.shifts, key=lambda each: each.begun)
    for shift, lane in zip(ordered, lanes(seen.shifts), strict=True):
        at = base + lane * height
        span = [shift.begun - start, shift.ended - start]
        axes.plot(span, [at, at], color=RED, marker=".", markersize=3, linewidth=1)
    axes.plot([], [], color=RED, marker=".", label="shifts")
    axes.axvspan(0, _length(seen), color=RED, alpha=0.05, linewidth=0)


def _start(seen: Watched) -> float:
    return min(each.begun for each in seen.shifts)


def _length(seen: Watched) -> float:
    return max(each.ended for each in seen.shifts) - _start(seen)
