"""A plan as a picture: before, each step, after, with every broker at the same place in all panels."""

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from regraft.cli import labels
from regraft.cli.labels import Point, place_labels
from regraft.cli.layout import Places, places
from regraft.cli.pictures import PAPER, SETTINGS, check_size, write_figure
from regraft.cli.plan_frames import Frame, frames
from regraft.cli.printing import shown
from regraft.model import Ends, Plan, Topology
from regraft.model.phrases import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_STEPS = 22
"""How many steps are drawn; of a longer plan, the first and the last ones."""

LEGEND, GAP = 0.45, 0.12
"""Inches: the height of the legend, and the gap between panels."""
TITLE, MARGIN = 16.0, 20.0
"""Points: the height of a panel's title, and the margin around the brokers."""

GOAL, OLD, ADDED, REMOVED, GUARD = "#27323f", "#b9c0c9", "#1a9850", "#d73027", "#2b6cb0"
FILLS = {"": "white", "busy": "#fff0b8", "added": "#d3f0de", "removed": "#fbd5d1"}
RIMS = {"": GOAL, "busy": GOAL, "added": ADDED, "removed": REMOVED}


class Style(NamedTuple):
    colour: str
    width: float
    dash: str
    label: str


STYLES = {
    "old": Style(OLD, 1.4, "-", "not in the goal"),
    "goal": Style(GOAL, 1.7, "-", "in the goal"),
    "guard": Style(GUARD, 3.2, "-", "guard: holds while the step runs"),
    "removed": Style(REMOVED, 1.9, "--", "removed in this step"),
    "added": Style(ADDED, 2.4, "-", "added in this step"),
}


class Panel(NamedTuple):
    """A title, a subtitle, and how each link and broker is drawn."""

    title: str
    subtitle: str
    links: dict[Ends, str]
    brokers: dict[str, str]
    active: frozenset[str]


def draw_plan(plan: Plan, current: Topology, goal: Topology, path: str | Path) -> None:
    """Write the picture as SVG, PNG or PDF by the suffix of the path."""
    path = Path(path)
    check_picture(current, goal, path)
    import matplotlib as mpl
    from matplotlib.figure import Figure

    where = places(current, goal)
    panels = panels_of(plan, current, goal)
    names = {broker.id: shown(broker.label or broker.id) for broker in (*current.brokers, *goal.brokers)}
    side = min(6.0, max(3.2, 0.55 * math.sqrt(len(where)) + 0.9)) * (
        1.15 if max(map(len, names.values())) > 4 else 1
    )
    columns = columns_for(len(panels))
    rows = math.ceil(len(panels) / columns)
    with mpl.rc_context(SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a missing glyph is drawn as a box; the warning would only disturb
        height = shape_of(where)
        figure = Figure(figsize=(side * columns, (side * height + TITLE / 72) * rows + LEGEND))
        _fill(figure, panels, columns, where, names)
        write_figure(figure, path)


def check_picture(current: Topology, goal: Topology, path: Path) -> None:
    """All brokers of both topologies are in one picture: those that leave go after others have joined."""
    check_size(len({*current.ids, *goal.ids}), "brokers", path)


def columns_for(panels: int) -> int:
    """A number of columns, at most five, that leaves the last row nearly full."""
    return min(range(min(3, panels), min(5, panels) + 1), key=lambda wide: (-panels % wide, -wide), default=1)


def shape_of(where: Places) -> float:
    """Height divided by width of what is drawn, so that a flat map gets flat panels."""
    xs, ys = zip(*where.values(), strict=True)
    ratio: float = (max(ys) - min(ys) + 0.16) / (max(xs) - min(xs) + 0.16)
    return min(1.15, max(0.5, ratio))


def panels_of(plan: Plan, current: Topology, goal: Topology) -> list[Panel]:
    film = list(frames(plan, current))
    steps = [_of_step(number, frame, goal) for number, frame in enumerate(film, 1)]
    if len(steps) > MOST_STEPS:
        hidden = len(steps) - MOST_STEPS
        half = MOST_STEPS // 2
        gap = Panel(f"… {hidden} more steps …", "", {}, {}, frozenset())
        steps = [*steps[:half], gap, *steps[-half:]]
    kept = {link: "goal" if link in goal.by_ends else "old" for link in current.by_ends}
    before = Panel("before", f"{len(current.ids)} brokers", kept, dict.fromkeys(current.ids, ""), frozenset())
    count = f"{counted(len(plan.steps), 'step')}, {counted(plan.actions, 'action')}"
    reached = dict.fromkeys(goal.by_ends, "goal")
    return [before, *steps, Panel("after", count, reached, dict.fromkeys(goal.ids, ""), frozenset())]


def _of_step(number: int, frame: Frame, goal: Topology) -> Panel:
    links = {link: "goal" if link in goal.by_ends else "old" for link in frame.links}
    for style, changed in (("guard", frame.guards), ("removed", frame.removed), ("added", frame.added)):
        links |= dict.fromkeys(changed, style)
    brokers = dict.fromkeys(frame.brokers, "") | dict.fromkeys(frame.joining, "added")
    brokers |= dict.fromkeys(frame.leaving, "removed")
    active = frozenset(broker for action in frame.step for broker in action.brokers)
    operations = [action.operation for action in frame.step]
    counts = ", ".join(counted(operations.count(name), name) for name in dict.fromkeys(operations))
    return Panel(f"step {number}", counts, links, brokers, active)


def _fill(figure: "Figure", panels: list[Panel], columns: int, where: Places, names: dict[str, str]) -> None:
    """Panels row by row, in inches, with the legend below."""
    from matplotlib.lines import Line2D

    wide, high = figure.get_size_inches()
    rows = math.ceil(len(panels) / columns)
    width, height = wide / columns, (high - LEGEND) / rows
    for index, panel in enumerate(panels):
        row, column = divmod(index, columns)
        left, bottom = column * width + GAP / 2, high - (row + 1) * height + GAP / 2
        axis = figure.add_axes((left / wide, bottom / high, (width - GAP) / wide, (height - GAP) / high))
        _draw_panel(axis, panel, where, names, (width - GAP, height - GAP))
    lines = [
        Line2D([], [], color=style.colour, lw=style.width, ls=style.dash, label=style.label)
        for style in STYLES.values()
    ]
    figure.legend(handles=lines, loc="lower center", ncols=5, frameon=False, fontsize=8.5)


def _draw_panel(
    axis: "Axes", panel: Panel, where: Places, names: dict[str, str], inches: tuple[float, float]
) -> None:
    from matplotlib.collections import LineCollection

    size = (inches[0] * 72, inches[1] * 72)
    points = _in_points(where, size)
    axis.set(xticks=[], yticks=[], xlim=(0, size[0]), ylim=(0, size[1]), facecolor=PAPER)
    axis.spines[:].set_color("#dde2e8")
    axis.text(6, size[1] - 6, panel.title, va="top", fontsize=10.5, fontweight="bold", color=GOAL)
    axis.text(size[0] - 6, size[1] - 6, panel.subtitle, va="top", ha="right", fontsize=8.5, color="#667080")
    for rank, (style, look) in enumerate(STYLES.items()):
        segments = [[points[end] for end in link] for link, drawn in panel.links.items() if drawn == style]
        lines = LineCollection(segments, colors=look.colour, linewidths=look.width, linestyles=look.dash)
        lines.set_zorder(rank + 1)
        axis.add_collection(lines)
    _draw_brokers(axis, panel, points, names, size)


def _in_points(where: Places, size: tuple[float, float]) -> dict[str, Point]:
    """Places in the panel, with the same scale in both directions, below the title."""
    xs, ys = zip(*where.values(), strict=True)
    usable = (size[0] - 2 * MARGIN, size[1] - TITLE - 2 * MARGIN)
    unit = min(usable[0] / (max(xs) - min(xs) or 1), usable[1] / (max(ys) - min(ys) or 1))
    x0 = size[0] / 2 - unit * (min(xs) + max(xs)) / 2
    y0 = (size[1] - TITLE) / 2 - unit * (min(ys) + max(ys)) / 2
    return {broker: (x0 + unit * x, y0 + unit * y) for broker, (x, y) in where.items()}


def _draw_brokers(
    axis: "Axes", panel: Panel, points: dict[str, Point], names: dict[str, str], size: tuple[float, float]
) -> None:
    """Short names are drawn inside the circles, long ones beside; those only for brokers that take part."""
    if not panel.brokers:
        return
    inside = all(len(name) <= 4 for name in names.values())
    room = 0.5 * min(size) / math.sqrt(len(points))
    radius = max(1.6, min(10.0, room * 0.31)) if inside else max(1.6, min(3.0, room * 0.2))
    states = {
        broker: "busy" if broker in panel.active and not state else state
        for broker, state in panel.brokers.items()
    }
    xs, ys = zip(*(points[broker] for broker in states), strict=True)
    axis.scatter(
        xs,
        ys,
        s=(2 * radius) ** 2,
        c=[FILLS[state] for state in states.values()],
        edgecolors=[RIMS[state] for state in states.values()],
        linewidths=0.4 + radius / 14,
        zorder=10,
    )
    if inside:
        for broker in states:
            letters = min(8.0, radius * (1.0 if len(names[broker]) <= 2 else 0.82))
            x, y = points[broker]
            axis.text(x, y, names[broker], ha="center", va="center", fontsize=letters, zorder=11, color=GOAL)
        return
    everybody = len(points) <= 45 and not panel.active
    named = {broker: names[broker][:18] for broker, state in states.items() if state or everybody}
    there = {broker: points[broker] for broker in states}
    for broker, (x, y) in place_labels(named, there, panel.links, radius, size).items():
        halo = {"boxstyle": "round,pad=0.08", "fc": PAPER, "ec": "none", "alpha": 0.65}
        axis.text(
            x,
            y,
            named[broker],
            ha="center",
            va="center",
            fontsize=labels.SIZE,
            zorder=12,
            color=GOAL,
            bbox=halo,
        )
