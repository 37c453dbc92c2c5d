"""The pictures of kTCO's figures: a panel per distribution, a curve per algorithm and k."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

Curves = Mapping[tuple[str, int], Mapping[int, float]]
FIXED = {"GM": ("tab:blue", "o"), "GM2": ("tab:red", "s"), "CyclePT": ("black", "v")}
SHADED = {"HararyPT": ("Oranges", "^", "--"), "greedy-k": ("Greens", "D", "-")}
"""Colours become darker with a larger k."""
DARKEST = 10
NAMES = {
    "expo": "Expo",
    "zipf": "Zipf",
    "unif": "Unif",
    "nodes": "number of nodes |V|",
    "topics": "number of topics |T|",
    "subscriptions": "subscription size |T(v)|",
    "degree": "average node degree",
    "largest_diameter": "Diam",
    "average_diameter": "average topic diameter",
}


class Panel(NamedTuple):
    distribution: str
    quantity: str
    curves: Curves


def draw(path: Path, title: str, axis: str, panels: Sequence[Panel], notes: Sequence[str]) -> None:
    """Panels of one quantity stand in a row; below them stands what kTCO prints about the figure."""
    quantities = list(dict.fromkeys(panel.quantity for panel in panels))
    across = len(panels) // len(quantities) if len(panels) > 2 else len(panels)
    down = -(-len(panels) // across)
    size = (4.2 * across + 1.7, 3.7 * down + 0.17 * len(notes) + 0.8)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(down, across, squeeze=False, sharey="row" if len(panels) > 2 else False)
    for panel, axes in zip(panels, grid.flat, strict=True):
        _panel(axes, axis, panel)
    for panel, axes in zip(panels, grid.flat, strict=True):
        if panel.quantity != "degree":
            axes.set_ylim(bottom=0)  # only now: it fixes the top too, for all panels that share the axis
    lines = {
        label: line
        for axes in grid.flat
        for line, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        lines.values(),
        lines.keys(),
        loc="outside right upper",
        fontsize="small",
        frameon=False,
        labelspacing=0.9,
    )
    figure.suptitle(title, x=0.01, ha="left", fontsize="medium")
    if notes:
        figure.supxlabel(
            "kTCO prints:\n" + "\n".join(notes), x=0.01, ha="left", fontsize="x-small", linespacing=1.4
        )
    figure.savefig(path, dpi=130)


def _panel(axes: Any, axis: str, panel: Panel) -> None:
    """One panel. Degrees lie between a few and some hundreds, so their axis is logarithmic."""
    for (algorithm, k), points in panel.curves.items():
        colour, marker, dashes = _style(algorithm, k)
        label = f"{algorithm}, k = {k}"
        axes.plot(
            *zip(*points.items(), strict=True), color=colour, marker=marker, ms=4, ls=dashes, label=label
        )
    axes.set_xlabel(NAMES[axis])
    if axes.get_subplotspec().is_first_col() or not axes.get_shared_y_axes().get_siblings(axes)[1:]:
        axes.set_ylabel(NAMES[panel.quantity])
    if panel.quantity == "degree":
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_title(NAMES[panel.distribution], fontsize="medium")
    axes.grid(visible=True, alpha=0.3)


def _style(algorithm: str, k: int) -> tuple[Any, str, str]:
    if algorithm in FIXED:
        return *FIXED[algorithm], "-"
    shades, marker, dashes = SHADED[algorithm]
    return colormaps[shades](0.35 + 0.6 * min(k, DARKEST) / DARKEST), marker, dashes
