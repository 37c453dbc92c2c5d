"""A mesh as a picture: links as wide as the number of topics they serve."""

from pathlib import Path

from regraft.cli.layout import places
from regraft.cli.pictures import PAPER, SETTINGS, write_figure
from regraft.cli.printing import shown
from regraft.model import Ends, Topology

MOST_NAMED = 80
INK = "#27323f"


def draw_mesh(topology: Topology, serves: dict[Ends, int], path: Path) -> None:
    """Write the picture as SVG, PNG or PDF by the suffix of the path."""
    import matplotlib as mpl
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    where = places(topology, topology)
    most = max(serves.values(), default=1)
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(7.5, 7.5), layout="constrained")
        axis = figure.add_subplot()
        axis.set(xticks=[], yticks=[], facecolor=PAPER)
        axis.spines[:].set_color("#dde2e8")
        lines = LineCollection(
            [[where[end] for end in link] for link in serves],
            linewidths=[0.4 + 3 * topics / most for topics in serves.values()],
            colors=INK,
            alpha=0.55,
        )
        axis.add_collection(lines)
        xs, ys = zip(*where.values(), strict=True)
        few = len(where) <= MOST_NAMED
        axis.scatter(xs, ys, s=40 if few else 12, c="white", edgecolors=INK, linewidths=0.8, zorder=3)
        if few:
            for name, (x, y) in where.items():
                axis.annotate(
                    shown(name)[:18], (x, y), xytext=(0, 6), textcoords="offset points", ha="center"
                )
        axis.set_title(
            f"{len(where)} nodes, {len(serves)} links; width: topics that a link serves", color=INK
        )
        write_figure(figure, path)
