"""Topologies in files: JSON (the public format), GraphML and GML.

The suffix tells the format (`.json`, `.graphml`, `.xml`, `.gml`), or else the content does. Every
fault is a `BadInput` of one line: the file, the place in it, the rule.
"""

from pathlib import Path

from regraft.model import gml, graph_files, graphml, topology_json
from regraft.model.errors import BadInput
from regraft.model.files import as_text, faults_in, parse_json, read_bytes, write_text
from regraft.model.topology import Topology

_SUFFIXES = {".json": "json", ".graphml": "graphml", ".xml": "graphml", ".gml": "gml"}


def read_topology(path: str | Path) -> Topology:
    """The topology in a file.

    Ids are strings: JSON with a number as id is refused, and so are unknown fields in JSON; GraphML and GML
    may have any fields. In a graph without the attribute `kind`, which Regraft did not write, parallel edges
    are merged, self-loops dropped, and the kind is "tree" if the graph is one, else "mesh".
    """
    path = Path(path)
    with faults_in(path):
        content = read_bytes(path)
        format = _SUFFIXES.get(path.suffix.lower()) or _sniff(content)
        if format == "json":
            return topology_json.topology_from(parse_json(as_text(content)))
        graph = graphml.parse(content) if format == "graphml" else gml.parse(as_text(content))
        return graph_files.topology_from(graph)


def write_topology(topology: Topology, path: str | Path) -> None:
    """Writes JSON, GraphML or GML by the suffix (JSON if it says nothing), atomically."""
    path = Path(path)
    format = _SUFFIXES.get(path.suffix.lower(), "json")
    with faults_in(path):
        if format == "json":
            text = topology_json.to_json(topology)
        else:
            graph = graph_files.graph_of(topology)
            text = graphml.write(graph) if format == "graphml" else gml.write(graph)
    write_text(path, text)


def _sniff(content: bytes) -> str:
    start = content.removeprefix(b"\xef\xbb\xbf").lstrip()[:4096]
    if start.startswith((b"{", b"[", b'"')):
        return "json"
    if start.startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        return "graphml"
    if b"graph" in start:
        return "gml"
    raise BadInput("line 1", "neither JSON, GraphML nor GML")
