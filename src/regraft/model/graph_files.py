"""A topology in a general graph format: what GraphML and GML have in common.

`graphml` and `gml` turn text into a `Graph` of plain items with their lines, this file turns that
into a `Topology` and back. Node ids become broker ids, never labels: those of the Topology Zoo are
not unique. Its `Country`, `Latitude` and `Longitude` become region, latitude and longitude.

A graph attribute `kind` says that Regraft wrote the file, and then a self-loop or a second link between two
brokers is refused as in JSON. Other graphs (the Topology Zoo has parallel
lines) are read as networks: parallel edges are merged into the first, self-loops are dropped,
direction is ignored, and the kind is "tree" if it is one, else "mesh".
"""

import re
from dataclasses import dataclass, field
from typing import Any

from regraft.model.errors import BadInput
from regraft.model.fields import an_id, brief
from regraft.model.topology import Broker, Ends, Kind, Link, Topology, check_tree, ends
from regraft.model.topology_json import broker_fields, kind_from, link_fields, stated

_OTHER_NAMES = {"Country": "region", "Latitude": "latitude", "Longitude": "longitude"}
_TEXTS = {"host", "region", "label"}
_NUMBERS = {"port": int, "cost": float, "latitude": float, "longitude": float, "latency_ms": float}


@dataclass(frozen=True, slots=True)
class Node:
    id: str
    line: int
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edge:
    source: str
    target: str
    line: int
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Graph:
    fields: dict[str, Any]
    nodes: list[Node]
    edges: list[Edge]


def topology_from(graph: Graph) -> Topology:
    """The topology that the graph stands for; `BadInput` names the line."""
    brokers = _brokers(graph)
    ours = "kind" in graph.fields
    links, lines = _links(graph, {broker.id for broker in brokers}, strict=ours)
    try:
        kind = kind_from(graph.fields["kind"], "kind") if ours else _kind(brokers, links)
        return Topology(brokers, links, kind)
    except BadInput as fault:
        raise _at_line(fault, lines) from None


def _kind(brokers: tuple[Broker, ...], links: tuple[Link, ...]) -> Kind:
    try:
        check_tree(tuple(broker.id for broker in brokers), [link.ends for link in links])
    except BadInput:
        return "mesh"
    return "tree"


def _brokers(graph: Graph) -> tuple[Broker, ...]:
    first: dict[str, Broker] = {}
    for node in graph.nodes:
        place = f"line {node.line}"
        id = an_id(node.id, place)
        if id in first:
            raise BadInput(place, f"broker id {id!r} is given twice")
        first[id] = Broker(id, **broker_fields(_typed(node.fields, place), place))
    return tuple(first.values())


def _links(graph: Graph, known: set[str], strict: bool) -> tuple[tuple[Link, ...], list[int]]:
    links: dict[Ends, Link] = {}
    lines: list[int] = []
    for edge in graph.edges:
        place = f"line {edge.line}"
        for end in (edge.source, edge.target):
            if end not in known:
                raise BadInput(place, f"unknown broker id {end!r}")
        pair = ends(edge.source, edge.target)
        if edge.source == edge.target:
            if strict:
                rule = f"a link must join two brokers, this one joins {edge.source!r} to itself"
                raise BadInput(place, rule)
        elif pair not in links:
            links[pair] = Link(pair, **link_fields(_typed(edge.fields, place), place))
            lines.append(edge.line)
        elif strict:
            raise BadInput(place, f"the link {pair[0]!r} - {pair[1]!r} is given twice")
    return tuple(links.values()), lines


def _typed(found: dict[str, Any], place: str) -> dict[str, Any]:
    """The fields under our names, with numbers as numbers: GraphML has only text, GML may quote."""
    typed: dict[str, Any] = {}
    for key, value in found.items():
        name = _OTHER_NAMES.get(key, key)
        if name in _TEXTS:
            typed[name] = str(value)
        elif name in _NUMBERS:
            try:
                typed[name] = _NUMBERS[name](value) if isinstance(value, str) else value
            except ValueError:
                raise BadInput(f"{place}.{key}", f"must be a number, not {brief(value)}") from None
    return typed


def _at_line(fault: BadInput, lines: list[int]) -> BadInput:
    """The same fault with a line: `Topology` names a link by its number, a user looks for the line."""
    counted = re.fullmatch(r"links\[(\d+)\]", fault.place)
    return BadInput(f"line {lines[int(counted[1])]}", fault.rule) if counted else fault


def graph_of(topology: Topology) -> Graph:
    """The reverse of `topology_from`; lines do not matter here."""
    nodes = [Node(broker.id, 0, stated(broker)) for broker in topology.brokers]
    edges = [Edge(*link.ends, 0, stated(link)) for link in topology.links]
    return Graph({"kind": topology.kind}, nodes, edges)
