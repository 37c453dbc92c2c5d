"""Switch networks in files: our JSON, GraphML and GML (Topology Zoo), SNDlib as JSON, Rocketfuel.

    {"switches": ["s1", "s2", {"id": "s3", "longitude": 9.2, "latitude": 48.8}],
     "cables": [["s1", "s2"], {"id": "c1", "ends": ["s2", "s3"], "weight": 4, "lower": 1, "upper": 50,
                               "one_way": false}]}

In JSON a cable without an id is called `c` and its place in the list. Parallel cables are kept apart in all
formats: the network is a multigraph. Weights of Topology Zoo files are 1, those of SNDlib are the lengths of
links (`dist`), those of Rocketfuel are the third word of a line; the two directions are two lines there.
"""

from pathlib import Path
from typing import Any

from regraft.model import gml, graphml
from regraft.model.errors import BadInput
from regraft.model.fields import a_list, a_number, a_text, an_id, an_object, brief, only, required
from regraft.model.files import as_text, faults_in, parse_json, read_bytes
from regraft.model.graph_files import Graph
from regraft.model.switch_network import LOWER, UPPER, Edge, Position, SwitchNetwork, both_ways

ROCKETFUEL = ".intra"
_GRAPHS = {".graphml": "graphml", ".xml": "graphml", ".gml": "gml"}


def read_network(path: str | Path) -> SwitchNetwork:
    """The network in a file; every fault is a `BadInput` of one line: the file, the place, the rule."""
    path = Path(path)
    with faults_in(path):
        content = read_bytes(path)
        if path.suffix == ROCKETFUEL:
            return _rocketfuel(as_text(content))
        if (format := _GRAPHS.get(path.suffix.lower())) is not None:
            return _from_graph(graphml.parse(content) if format == "graphml" else gml.parse(as_text(content)))
        return network_from(parse_json(as_text(content)))


def network_from(document: Any) -> SwitchNetwork:
    """The network that a parsed JSON document describes: ours, or SNDlib's nodes and edges."""
    whole = an_object(document, "")
    if "nodes" in whole and "switches" not in whole:
        return _node_link(whole)
    only(whole, ("switches", "cables"))
    positions: dict[str, Position] = {}
    switches = []
    for place, item in enumerate(a_list(required(whole, "switches"), "switches")):
        switches.append(_switch(item, f"switches[{place}]", positions))
    edges: list[Edge] = []
    cables: set[str] = set()
    for place, item in enumerate(a_list(required(whole, "cables"), "cables")):
        found = _cable(item, place)
        if found[0].cable in cables:
            raise BadInput(f"cables[{place}]", f"the cable id {found[0].cable!r} is given twice")
        cables.add(found[0].cable)
        edges += found
    return SwitchNetwork(tuple(switches), tuple(edges), positions or None)


def _switch(item: Any, place: str, positions: dict[str, Position]) -> str:
    if not isinstance(item, dict):
        return an_id(item, place)
    only(item, ("id", "longitude", "latitude"), place)
    id = an_id(required(item, "id", place), f"{place}.id")
    if item.get("longitude") is not None and item.get("latitude") is not None:
        positions[id] = Position(
            a_number(item["longitude"], f"{place}.longitude", -180, 180),
            a_number(item["latitude"], f"{place}.latitude", -90, 90),
        )
    return id


def _cable(item: Any, number: int) -> list[Edge]:
    place = f"cables[{number}]"
    found = {"ends": item} if isinstance(item, list) else an_object(item, place)
    only(found, ("id", "ends", "weight", "lower", "upper", "one_way"), place)
    ends = a_list(required(found, "ends", place), f"{place}.ends")
    if len(ends) != 2:
        raise BadInput(place, f"a cable has two ends, not {len(ends)}")
    one, other = (an_id(end, f"{place}.ends") for end in ends)
    id = a_text(found.get("id", f"c{number}"), f"{place}.id")
    weight = a_number(found.get("weight", 1), f"{place}.weight", 0)
    lower = a_number(found.get("lower", min(LOWER, weight)), f"{place}.lower", 0)
    upper = a_number(found.get("upper", max(UPPER, weight)), f"{place}.upper", 0)
    there = Edge(one, other, id, weight, lower, upper)
    one_way = found.get("one_way", False)
    if not isinstance(one_way, bool):
        raise BadInput(f"{place}.one_way", f"must be true or false, not {brief(one_way)}")
    return [there] if one_way else [there, there._replace(source=other, target=one)]


def _from_graph(graph: Graph) -> SwitchNetwork:
    """The network of a GraphML or GML file: self-loops are dropped, each parallel edge is a cable."""
    positions = {}
    for node in graph.nodes:
        longitude, latitude = node.fields.get("Longitude"), node.fields.get("Latitude")
        if longitude is not None and latitude is not None:
            place = f"line {node.line}"
            positions[node.id] = Position(_decimal(longitude, place), _decimal(latitude, place))
    known = {node.id for node in graph.nodes}
    edges: list[Edge] = []
    for number, edge in enumerate(graph.edges):
        for end in (edge.source, edge.target):
            if end not in known:
                raise BadInput(f"line {edge.line}", f"unknown switch id {end!r}")
        if edge.source != edge.target:
            edges += both_ways(edge.source, edge.target, f"c{number}")
    return SwitchNetwork(tuple(node.id for node in graph.nodes), tuple(edges), positions or None)


def _decimal(value: object, place: str) -> float:
    try:
        return float(str(value))
    except ValueError:
        raise BadInput(place, f"a coordinate must be a number, not {brief(value)}") from None


def _node_link(whole: dict[str, Any]) -> SwitchNetwork:
    """Node-link JSON, as SNDlib's networks are converted to: ids may be numbers there."""
    positions: dict[str, Position] = {}
    switches = []
    for place, item in enumerate(a_list(required(whole, "nodes"), "nodes")):
        node = an_object(item, f"nodes[{place}]")
        id = _name(required(node, "id", f"nodes[{place}]"), f"nodes[{place}].id")
        switches.append(id)
        if isinstance(node.get("pos"), list) and len(node["pos"]) == 2:
            longitude, latitude = (a_number(each, f"nodes[{place}].pos", -1e9) for each in node["pos"])
            positions[id] = Position(longitude, latitude)
    links = a_list(required(whole, "edges" if "edges" in whole else "links"), "edges")
    edges: list[Edge] = []
    for number, item in enumerate(links):
        place_of = f"edges[{number}]"
        edge = an_object(item, place_of)
        one, other = (
            _name(required(edge, end, place_of), f"{place_of}.{end}") for end in ("source", "target")
        )
        weight = a_number(edge.get("weight", edge.get("dist", 1)), f"{place_of}.dist", 0)
        edges += both_ways(one, other, f"c{number}", weight)
    return SwitchNetwork(tuple(switches), tuple(edges), positions or None)


def _name(value: Any, place: str) -> str:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else an_id(value, place)


def _rocketfuel(text: str) -> SwitchNetwork:
    """One direction of a cable per line: "from to value"."""
    switches: dict[str, None] = {}
    edges: dict[tuple[str, str], Edge] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words:
            continue
        place = f"line {number}"
        if len(words) != 3:
            raise BadInput(place, f"must be 'from to value', not {brief(line)}")
        one, other, value = words
        try:
            weight = a_number(float(value), place, 0)
        except ValueError:
            raise BadInput(place, f"the third word must be a number, not {brief(value)}") from None
        switches |= {one: None, other: None}
        if one != other:
            cable = "~".join(sorted((one, other)))
            edges[one, other] = Edge(one, other, cable, weight, min(LOWER, weight), max(UPPER, weight))
    return SwitchNetwork(tuple(switches), tuple(edges.values()))
