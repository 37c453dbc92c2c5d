"""The pictures of the demo's report, as SVG inside the page (matplotlib)."""

import io
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from regraft.cli.layout import Places, places
from regraft.demo.story import Sample, Story, quantile
from regraft.model import Ends, Topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, SOFT, BLUE, ORANGE, GREEN, RED = "#27323f", "#98a2ad", "#2b6cb0", "#dd6b20", "#1a9850", "#d73027"
SETTINGS: Any = {
    "svg.hashsalt": "regraft",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def drawn(size: tuple[float, float], draw: "Callable[[Axes], None]") -> str:
    """One picture, as an element of the page."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    text = io.StringIO()
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.add_subplot())
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]


def latencies(story: Story, samples: Iterable[Sample]) -> str:
    """The p50 and p99 of the delivery latency in every second."""
    seconds: defaultdict[int, list[float]] = defaultdict(list)
    for sent, ms in samples:
        seconds[math.floor(sent - story.began)].append(ms)
    order = sorted(second for second in seconds if second >= 0)
    for second in order:
        seconds[second].sort()

    def draw(axes: "Axes") -> None:
        for share, colour, name in ((0.99, ORANGE, "p99"), (0.5, BLUE, "p50")):
            values = [quantile(seconds[second], share) for second in order]
            axes.plot([second + 0.5 for second in order], values, color=colour, label=name, linewidth=1.6)
        axes.set_yscale("log")
        _plain_numbers(axes)
        axes.set_ylabel("delivery latency, ms")
        _periods(axes, story)

    return drawn((9.6, 3.1), draw)


def rates(story: Story, samples: Iterable[Sample], published: Sequence[tuple[float, int]]) -> str:
    delivered: defaultdict[int, int] = defaultdict(int)
    sent: defaultdict[int, int] = defaultdict(int)
    for at, _ in samples:
        delivered[math.floor(at - story.began)] += 1
    for at, count in published:
        sent[math.floor(at - story.began)] += count
    order = sorted(second for second in delivered if second >= 0)[:-1]

    def draw(axes: "Axes") -> None:
        times = [second + 0.5 for second in order]
        axes.plot(times, [delivered[each] for each in order], color=GREEN, label="delivered", linewidth=1.6)
        axes.plot(times, [sent[each] for each in order], color=INK, label="published", linewidth=1.2)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("events a second")
        _periods(axes, story)

    return drawn((9.6, 2.3), draw)


def _periods(axes: "Axes", story: Story) -> None:
    """Marks when links changed and when the overlay healed."""
    axes.set_xlabel("seconds of traffic")
    axes.grid(axis="y", color="#e4e8ec", linewidth=0.7)
    axes.set_axisbelow(True)
    for name, colour, text in (("during", BLUE, "links change"), ("healing", RED, "heals")):
        period = story.period(name)
        begin, end = period.began - story.began, period.ended - story.began
        axes.axvspan(begin, max(end, begin + 0.3), color=colour, alpha=0.13, linewidth=0)
        axes.text(begin, 1.01, text, color=colour, transform=axes.get_xaxis_transform(), fontsize=9)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _plain_numbers(axes: "Axes") -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def costs(story: Story) -> str:
    """The routing cost of a publication, before the change and after each step."""

    def draw(axes: "Axes") -> None:
        values = story.change.costs
        axes.bar(range(len(values)), values, color=[SOFT, *[BLUE] * (len(values) - 2), GREEN], width=0.72)
        for step, value in enumerate(values):
            axes.text(step, value, f"{value:.1f}", ha="center", va="bottom", fontsize=9, color=INK)
        names = ["before", *(f"step {step}" for step in range(1, len(values)))]
        axes.set_xticks(range(len(values)), names)
        axes.set_ylabel("routing cost of an event, ms")

    return drawn((max(3.6, 1.1 + 0.75 * len(story.change.costs)), 2.9), draw)


def topology(net: Topology, links: Iterable[Ends], old: Iterable[Ends], gone: str = "") -> str:
    """The overlay on a map: links that are new since `old`, links that are gone, and a broker that died."""
    where = places(net, net)
    now, before = set(links), set(old)

    def draw(axes: "Axes") -> None:
        for pair in sorted(net.by_ends):
            _line(axes, where, pair, "#dbe2e8", 1.0, "-")
        for pair in sorted(before - now):
            _line(axes, where, pair, RED, 1.2, (0, (3, 2)))
        for pair in sorted(now):
            _line(axes, where, pair, GREEN if pair not in before else INK, 2.0, "-")
        for id, (x, y) in where.items():
            dead = id == gone
            axes.plot(x, y, "X" if dead else "o", color=RED if dead else INK, ms=8 if dead else 4.5, zorder=3)
            axes.annotate(
                id,
                (x, y),
                (4, 4),
                textcoords="offset points",
                fontsize=9,
                color=RED if dead else "#52606d",
                bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.4},
            )
        axes.set_aspect("equal")
        axes.set_axis_off()
        axes.margins(0.06)

    return drawn((5.6, 4.6), draw)


def _line(axes: "Axes", where: Places, pair: Ends, colour: str, width: float, dash: Any) -> None:
    (x, y), (u, w) = where[pair[0]], where[pair[1]]
    axes.plot([x, u], [y, w], color=colour, linewidth=width, linestyle=dash, solid_capstyle="round", zorder=2)
