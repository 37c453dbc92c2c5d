"""Network and routes as a picture: cables as wide as the events that cross them."""

from pathlib import Path
from typing import Any

from regraft.cli.layout import places
from regraft.cli.pictures import PAPER, SETTINGS, SUFFIXES, write_figure
from regraft.cli.printing import shown
from regraft.model import BadInput, Broker, Link, Topology, ends
from regraft.model.routes import Routes
from regraft.model.switch_network import SwitchNetwork

MOST_NAMED = 60
INK, FLOW, SOURCE, SINK = "#27323f", "#c2571a", "#1d6f8a", "#5b8c2a"


def check_suffix(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise BadInput(str(path), f"a picture ends in {', '.join(SUFFIXES)}")


def draw_routes(routes: Routes, path: Path) -> None:
    """Write the picture as SVG, PNG or PDF by the suffix of the path."""
    import matplotlib as mpl
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    topology = _topology(routes.network)
    where = places(topology, topology)
    crossing = _crossing(routes)
    most = max(crossing.values(), default=1.0) or 1.0
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(8.5, 7.5), layout="constrained")
        axis = figure.add_subplot()
        axis.set(xticks=[], yticks=[], facecolor=PAPER)
        axis.spines[:].set_color("#dde2e8")
        lines = [[where[end] for end in link.ends] for link in topology.links]
        axis.add_collection(LineCollection(lines, linewidths=0.6, colors="#b8c2cc"))
        used = [link.ends for link in topology.links if crossing.get(link.ends)]
        axis.add_collection(
            LineCollection(
                [[where[end] for end in pair] for pair in used],
                linewidths=[0.6 + 5 * crossing[pair] / most for pair in used],
                colors=FLOW,
                alpha=0.8,
            )
        )
        _switches(axis, routes, where)
        axis.set_title(_title(routes), color=INK)
        write_figure(figure, path)


def _title(routes: Routes) -> str:
    figures = routes.figures
    about = f"{len(routes.network.switches)} switches, {routes.flows} flows"
    rate = f", {figures.data_rate:,.4g} events/s over all edges" if figures else ""
    return about + rate + "; width: events; blue: publishers; green: subscribers"


def _switches(axis: Any, routes: Routes, where: Any) -> None:
    sources = {publisher.switch for publisher in routes.workload.publishers}
    sinks = {subscriber.switch for subscriber in routes.workload.subscribers}
    few = len(where) <= MOST_NAMED
    for names, colour, size in ((where, "white", 26), (sinks, SINK, 26), (sources, SOURCE, 9)):
        points = [where[name] for name in where if name in names]
        if points:
            xs, ys = zip(*points, strict=True)
            axis.scatter(
                xs, ys, s=size if few else size / 2, c=colour, edgecolors=INK, linewidths=0.6, zorder=3
            )
    if few:
        for name, point in where.items():
            axis.annotate(shown(name)[:18], point, xytext=(0, 6), textcoords="offset points", ha="center")


def _topology(network: SwitchNetwork) -> Topology:
    """The network as the layout takes it: one link for parallel cables and for both directions."""
    positions = network.positions or {}
    brokers = tuple(
        Broker(
            switch,
            longitude=positions[switch].longitude if switch in positions else None,
            latitude=positions[switch].latitude if switch in positions else None,
        )
        for switch in network.switches
    )
    pairs = dict.fromkeys(ends(edge.source, edge.target) for edge in network.edges)
    return Topology(brokers, tuple(Link(pair) for pair in pairs), "mesh")


def _crossing(routes: Routes) -> dict[tuple[str, str], float]:
    """Events per second between two switches, both directions together."""
    from regraft.routes.check import check

    found: dict[tuple[str, str], float] = {}
    for edge, rate in zip(routes.network.edges, check(routes).rate_on.tolist(), strict=True):
        pair = ends(edge.source, edge.target)
        found[pair] = found.get(pair, 0.0) + rate
    return found
