"""Published networks as OCBR problems: SteinLib (STP), SNDlib (node-link JSON), Rocketfuel maps.

Each reader returns the network of possible links with their costs; STP files also hold the terminals,
which are the one traffic class of the Steiner tree problem (OCBR §2), SNDlib files the demands, which
are classes of two. Rocketfuel maps are cut to their largest component.
"""

import csv
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx

from regraft.model import BadInput, Broker, Ends, Link, Topology, ends
from regraft.model.files import as_text, parse_json, read_bytes, shown
from regraft.model.traffic import Traffic, TrafficClass, merged


class Instance(NamedTuple):
    """A network with its traffic, under a name."""

    name: str
    network: Topology
    traffic: Traffic


def read_stp(path: Path) -> Instance:
    """An instance of the Steiner tree problem: `E u v cost` and `T v` lines of an STP file."""
    costs: dict[Ends, float] = {}
    terminals: list[str] = []
    size = 0
    for number, line in enumerate(as_text(read_bytes(path)).splitlines(), 1):
        words = line.split()
        try:
            match words:
                case ["Nodes", count]:
                    size = int(count)
                case ["E", u, v, cost] if u != v:
                    pair = ends(u, v)
                    costs[pair] = min(float(cost), costs.get(pair, float("inf")))
                case ["T", v]:
                    terminals.append(v)
        except ValueError:
            raise BadInput(f"{shown(path)}: line {number}", "a number is needed here") from None
    if not size or not terminals:
        raise BadInput(shown(path), "not an STP file: no nodes or no terminals")
    brokers = tuple(Broker(str(node)) for node in range(1, size + 1))
    network = Topology(brokers, tuple(Link(pair, cost=cost) for pair, cost in costs.items()), "mesh")
    return Instance(path.stem, network, (TrafficClass(frozenset(terminals), 1.0),))


def read_optima(path: Path) -> dict[str, float]:
    """Known optima by instance: the columns of SteinLib's table in the data folder."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {Path(row["file"]).stem: float(row["optimum"]) for row in rows}


def read_sndlib(path: Path) -> Instance:
    """A network of SNDlib in node-link JSON, with its demands as classes of two brokers."""
    document = parse_json(as_text(read_bytes(path)))
    brokers = tuple(Broker(str(node["id"]), label=node.get("name")) for node in document["nodes"])
    costs: dict[Ends, float] = {}
    for edge in document["edges"]:
        pair = ends(str(edge["source"]), str(edge["target"]))
        if pair[0] != pair[1]:
            costs[pair] = min(float(edge["dist"]), costs.get(pair, float("inf")))
    network = Topology(brokers, tuple(Link(pair, cost=cost) for pair, cost in costs.items()), "mesh")
    demands: dict[str, dict[str, Any]] = document["graph"]["demands"]
    pairs = (
        TrafficClass(frozenset((source, target)), float(demand))
        for source, row in demands.items()
        for target, demand in row.items()
        if source != target
    )
    return Instance(path.stem, network, merged(pairs))


def read_rocketfuel(path: Path) -> Topology:
    """The largest component of a map: lines `from to milliseconds`, which may be given in both directions."""
    graph = nx.Graph()
    for number, line in enumerate(as_text(read_bytes(path)).splitlines(), 1):
        words = line.split()
        if len(words) != 3:
            raise BadInput(f"{shown(path)}: line {number}", "a line is: from to value")
        if words[0] != words[1]:
            graph.add_edge(words[0], words[1], latency=float(words[2]))
    parts: list[set[str]] = list(nx.connected_components(graph))
    largest: set[str] = max(parts, key=len)
    nodes = sorted(largest)
    links = (
        Link(ends(one, other), latency_ms=latency, cost=latency)
        for one, other, latency in graph.subgraph(nodes).edges(data="latency")
    )
    return Topology(tuple(Broker(node) for node in nodes), tuple(links), "mesh")
