"""Networks, workloads and simple correct `Routes` for tests: random spanning trees, filters without slack.

Made without `routes`, so that what is tested against them does not depend on it. A part of the event space
is routed on one tree of all publishers ("filter") or on a tree of each publisher's own ("publisher").
"mixed" does the one for expressions that begin with 0 and the other for those that begin with 1, and the
first publisher has a tree of its own for everything.
"""

from collections.abc import Iterable, Mapping
from random import Random
from typing import Literal

import networkx as nx

from regraft.filters.dz import DzSet
from regraft.model.routes import Entry, Matching, Publisher, Routes, RouteWorkload, Subscriber
from regraft.model.switch_network import SwitchNetwork

Style = Literal["publisher", "filter", "mixed"]


def random_network(switches: int, cables: int, rng: Random) -> SwitchNetwork:
    """Connected; parallel cables may occur."""
    names = [f"s{number}" for number in range(switches)]
    links = [(names[rng.randrange(place)], names[place]) for place in range(1, switches)]
    for _ in range(cables - len(links)):
        one, other = rng.sample(names, 2)
        links.append((one, other))
    return SwitchNetwork.of(links, names)


def random_workload(
    network: SwitchNetwork, publishers: int, subscribers: int, digits: int, rng: Random
) -> RouteWorkload:
    """Hosts anywhere, each with one to three expressions; publishers advertise wider ones."""

    def some(longest: int) -> tuple[str, ...]:
        chosen = ("".join(rng.choices("01", k=rng.randint(1, longest))) for _ in range(rng.randint(1, 3)))
        return DzSet(chosen).expressions

    return RouteWorkload(
        tuple(
            Publisher(f"p{number}", rng.choice(network.switches), 1.0, some(2))
            for number in range(publishers)
        ),
        tuple(
            Subscriber(f"q{number}", rng.choice(network.switches), some(digits))
            for number in range(subscribers)
        ),
    )


def tree_routes(network: SwitchNetwork, workload: RouteWorkload, style: Style, rng: Random) -> Routes:
    """Every event takes a spanning tree of the network that was drawn at random."""
    tables: dict[str, list[Entry]] = {switch: [] for switch in network.switches}
    if style != "publisher":
        part = DzSet([""] if style == "filter" else ["0"])
        tree = _spanning_tree(network, rng)
        for switch in network.switches:
            tables[switch] += _entries(network, workload, tree, switch, part, None)
    if style != "filter":
        for number, publisher in enumerate(workload.publishers):
            instead = style == "mixed" and number == 0
            part = DzSet(publisher.advertisement) & DzSet([""] if instead or style == "publisher" else ["1"])
            tree = _spanning_tree(network, rng)
            for switch in network.switches:
                own = _entries(network, workload, tree, switch, part, publisher)
                tables[switch] += own
                if instead:
                    # What its own tree does not want here must not take the tree of all.
                    known = {entry.dz for entry in own}
                    tables[switch] += (Entry(dz, publisher.id, (), ()) for dz in part if dz not in known)
    matching: Matching = "filter" if style == "filter" else "publisher"
    return Routes(network, workload, matching, {switch: tuple(held) for switch, held in tables.items()})


def _spanning_tree(network: SwitchNetwork, rng: Random) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(network.switches)
    for number, edge in enumerate(network.edges):
        if not graph.has_edge(edge.source, edge.target) or rng.random() < 0.5:
            graph.add_edge(edge.source, edge.target, weight=rng.random(), numbers=_both(network, number))
    return nx.minimum_spanning_tree(graph)


def _both(network: SwitchNetwork, number: int) -> Mapping[str, int]:
    """The two directions of a cable, by the switch that they leave."""
    back = network.opposite[number]
    assert back is not None, "made of two-way cables"
    return {network.edges[each].source: each for each in (number, back)}


def _entries(
    network: SwitchNetwork,
    workload: RouteWorkload,
    tree: nx.Graph,
    switch: str,
    part: DzSet,
    publisher: Publisher | None,
) -> list[Entry]:
    """One entry per expression that any of the ways out has; it holds all ways whose filter covers it."""
    ways: dict[int | str, DzSet] = {}
    toward = None if publisher is None else _toward(tree, switch, publisher.switch)
    for near in tree[switch]:
        if near != toward:
            behind = _behind(tree, switch, near)
            wanted = _wanted((each for each in workload.subscribers if each.switch in behind), part)
            ways[tree[switch][near]["numbers"][switch]] = wanted
    for subscriber in workload.subscribers:
        if subscriber.switch == switch:
            ways[subscriber.id] = _wanted([subscriber], part)
    expressions = sorted({dz for wanted in ways.values() for dz in wanted})
    entries = []
    for dz in expressions:
        chosen = [way for way, wanted in ways.items() if dz in wanted]
        out = tuple(sorted(way for way in chosen if isinstance(way, int)))
        deliver = tuple(sorted(way for way in chosen if isinstance(way, str)))
        entries.append(Entry(dz, publisher and publisher.id, out, deliver))
    return entries


def _wanted(subscribers: Iterable[Subscriber], part: DzSet) -> DzSet:
    return DzSet(dz for each in subscribers for dz in each.subscription) & part


def _toward(tree: nx.Graph, switch: str, root: str) -> str | None:
    return None if switch == root else str(nx.shortest_path(tree, switch, root)[1])


def _behind(tree: nx.Graph, switch: str, near: str) -> set[str]:
    cut = nx.restricted_view(tree, [switch], [])
    return set(nx.node_connected_component(cut, near))
