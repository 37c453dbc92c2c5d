"""Figure 5 a-f as pictures: one PNG each, IPITT's printed planning times as hollow marks."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from regraft.lab.ipitt_printed import APPROACH, PLOTTED
from regraft.lab.sweeps import CENTRE_CHANGE, CENTRE_SIZE, FIRST_PLAN, Axis, Quantity, Rows, mean_at, on

MARKS = {
    "best-first": ("tab:gray", "v"),
    "ip-naive": ("tab:brown", "s"),
    "ip-all-paths": ("tab:orange", "D"),
    "ip-each-path": ("tab:red", "^"),
    "exact": ("tab:purple", "P"),
    "exact-all-paths": ("tab:pink", "h"),
    "exact-each-path": ("tab:blue", "X"),
    "fast": ("tab:green", "o"),
    FIRST_PLAN: ("tab:olive", "."),
}
AXES: dict[Axis, str] = {
    "size": f"overlay size (brokers), {CENTRE_CHANGE} % of the links changed",
    "change": f"change ratio (% of the links), {CENTRE_SIZE} brokers",
}
QUANTITIES: dict[Quantity, str] = {"seconds": "planning time (s)", "actions": "actions", "steps": "steps"}


def draw(name: str, axis: Axis, quantity: Quantity, rows: Rows, planners: Sequence[str], path: Path) -> None:
    """One curve per planner: the mean over the topologies that it solved."""
    figure = Figure(figsize=(7.5, 4.8), layout="constrained")
    axes = figure.add_subplot()
    for planner in planners:
        means = {point: mean_at(rows, axis, point, planner, quantity) for point in on(axis, rows, planner)}
        curve = [(point, mean) for point, mean in means.items() if mean is not None]
        colour, marker = MARKS.get(planner, ("black", "x"))
        label = f"{planner} ({APPROACH[planner]})" if planner in APPROACH else planner
        if curve:
            axes.plot(*zip(*curve, strict=True), color=colour, marker=marker, label=label)
        if printed := PLOTTED.get(name, {}).get(planner):
            axes.plot(
                *zip(*printed, strict=True),
                color=colour,
                marker=marker,
                markersize=11,
                markerfacecolor="none",
                linestyle="none",
                label=f"{APPROACH[planner]}, printed in IPITT",
            )
    axes.set_xlabel(AXES[axis])
    axes.set_ylabel(QUANTITIES[quantity])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if quantity == "seconds":
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.set_title(f"IPITT Figure {name}", loc="left", fontsize="medium")
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside right upper", fontsize="small", frameon=False)
    figure.savefig(path, dpi=150)
