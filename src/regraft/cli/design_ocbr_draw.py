"""A tree design as a picture: the tree before and after, links as wide as what crosses them."""

from pathlib import Path
from typing import TYPE_CHECKING

from regraft.cli.layout import Places, places
from regraft.cli.pictures import PAPER, SETTINGS, write_figure
from regraft.cli.printing import shown
from regraft.model import Ends, Topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from regraft.design.ocbr import Design, Problem

KEPT, ADDED, REMOVED = "#27323f", "#1a9850", "#d73027"


def draw_design(problem: "Problem", before: Topology, design: "Design", path: Path) -> None:
    """Write the picture as SVG, PNG or PDF by the suffix of the path."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from regraft.design.ocbr import link_loads

    trees = (problem.topology(problem.parents(before.by_ends)), design.topology)
    where = places(*trees)
    loads = [link_loads(problem, problem.parents(tree.by_ends)) for tree in trees]
    most = max((load for each in loads for load in each.values()), default=0.0) or 1.0
    changed = (
        before.by_ends.keys() - design.topology.by_ends.keys(),
        design.topology.by_ends.keys() - before.by_ends.keys(),
    )
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(11, 5.6), layout="constrained")
        for place, (title, cost, colour) in enumerate(
            (("before", design.before, REMOVED), ("after", design.cost, ADDED))
        ):
            axis = figure.add_subplot(1, 2, place + 1)
            axis.set_title(f"{title}: cost {cost.total:,.6g}", fontweight="bold", color=KEPT)
            widths = {pair: 0.6 + 6 * load / most for pair, load in loads[place].items()}
            _draw_tree(axis, where, widths, dict.fromkeys(changed[place], colour))
        figure.supxlabel(
            "width: messages that cross the link; red: links that go, green: links that come", fontsize=8
        )
        write_figure(figure, path)


def _draw_tree(axis: "Axes", where: Places, widths: dict[Ends, float], colours: dict[Ends, str]) -> None:
    from matplotlib.collections import LineCollection

    axis.set(xticks=[], yticks=[], facecolor=PAPER)
    axis.spines[:].set_color("#dde2e8")
    segments = [[where[end] for end in pair] for pair in widths]
    lines = LineCollection(
        segments,
        linewidths=list(widths.values()),
        colors=[colours.get(pair, KEPT) for pair in widths],
        capstyle="round",
    )
    axis.add_collection(lines)
    xs, ys = zip(*where.values(), strict=True)
    axis.scatter(
        xs, ys, s=40 if len(where) <= 80 else 10, c="white", edgecolors=KEPT, linewidths=0.8, zorder=3
    )
    if len(where) <= 80:
        for broker, (x, y) in where.items():
            axis.annotate(shown(broker)[:14], (x, y), xytext=(4, 4), textcoords="offset points", fontsize=6.5)
    axis.margins(0.06)
