"""The pictures of kTCO's figures: one curve per algorithm and k."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib.figure import Figure

MARKS = {
    "GM": ("tab:blue", "o"),
    "GM2": ("tab:red", "s"),
    "CyclePT": ("tab:gray", "v"),
    "HararyPT": ("tab:orange", "^"),
    "greedy-k": ("tab:green", "D"),
}
AXES = {
    "nodes": "number of nodes |V|",
    "topics": "number of topics |T|",
    "subscriptions": "subscription size |T(v)|",
    "degree": "average node degree",
    "largest_diameter": "Diam",
    "average_diameter": "average topic diameter",
}


def draw(
    path: Path, title: str, axis: str, quantity: str, curves: Mapping[tuple[str, int], Mapping[int, float]]
) -> None:
    figure = Figure(figsize=(7.5, 4.8), layout="constrained")
    axes = figure.add_subplot()
    for (algorithm, k), points in curves.items():
        colour, marker = MARKS.get(algorithm, ("black", "x"))
        dashes = "-" if algorithm != "HararyPT" else "--"
        xs = sorted(points)
        label = f"{algorithm}, k = {k}"
        axes.plot(
            xs,
            [points[x] for x in xs],
            color=colour,
            marker=marker,
            ms=4,
            ls=dashes,
            alpha=1 - 0.06 * k,
            label=label,
        )
    axes.set(xlabel=AXES[axis], ylabel=AXES[quantity], ylim=(0, None))
    axes.set_title(title, loc="left", fontsize="medium")
    axes.grid(visible=True, alpha=0.3)
    figure.legend(loc="outside right upper", fontsize="small", frameon=False)
    figure.savefig(path, dpi=130)
