"""GraphML: text to `Graph` and back, on expat, which reports the line of everything.

A document type declaration is refused: it is where entity bombs and references to other files live,
and no GraphML needs one. Nested graphs and hyperedges have no meaning for an overlay.
"""

import re
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from regraft.model.errors import BadInput
from regraft.model.graph_files import Edge, Graph, Node

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TYPES = {str: "string", int: "int", float: "double"}


class _Reader:
    """Collects the graph while expat walks through the text."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate(namespace_separator="}")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.keys: dict[str, tuple[str, str]] = {}  # key id -> what it is for, the name of the field
        self.defaults: dict[str, dict[str, str]] = {"graph": {}, "node": {}, "edge": {}, "all": {}}
        self.graph: Graph | None = None
        self.open: list[str] = []
        self.fields: list[dict[str, Any]] = []  # of the graph, and of the node or edge inside it
        self.data: str | None = None
        self.said: list[str] = []

    @property
    def place(self) -> str:
        return f"line {self.parser.CurrentLineNumber}"

    def doctype(self, *_: object) -> None:
        raise BadInput(self.place, "a document type declaration (DOCTYPE) is not allowed")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        element = name.rpartition("}")[2]
        if not self.open and element != "graphml":
            raise BadInput(self.place, f"not GraphML: the outermost element is <{element}>, not <graphml>")
        self.open.append(element)
        if element == "graph":
            self.start_graph()
        elif element == "node":
            self.start_node(attributes)
        elif element == "edge":
            self.start_edge(attributes)
        elif element == "hyperedge":
            raise BadInput(self.place, "a hyperedge cannot be a link: a link has two ends")
        elif element == "key":
            self.start_key(attributes)
        elif element in ("data", "default"):
            self.data, self.said = attributes.get("key", ""), []

    def start_key(self, attributes: dict[str, str]) -> None:
        id = self.required(attributes, "id", "key")
        self.keys[id] = (attributes.get("for", "all"), attributes.get("attr.name", id))

    def start_graph(self) -> None:
        if self.graph is not None:
            raise BadInput(self.place, "one graph is allowed in a file, this is the second or a nested one")
        self.graph = Graph({}, [], [])
        self.fields.append(self.graph.fields)

    def start_node(self, attributes: dict[str, str]) -> None:
        node = Node(self.required(attributes, "id", "node"), self.parser.CurrentLineNumber)
        self.within_graph("node").nodes.append(node)
        self.fields.append(node.fields)

    def start_edge(self, attributes: dict[str, str]) -> None:
        source, target = (self.required(attributes, end, "edge") for end in ("source", "target"))
        edge = Edge(source, target, self.parser.CurrentLineNumber)
        self.within_graph("edge").edges.append(edge)
        self.fields.append(edge.fields)

    def within_graph(self, element: str) -> Graph:
        if self.graph is None or len(self.fields) != 1:
            raise BadInput(self.place, f"a <{element}> must stand inside the <graph>, not elsewhere")
        return self.graph

    def required(self, attributes: dict[str, str], name: str, element: str) -> str:
        if name not in attributes:
            raise BadInput(self.place, f"a <{element}> needs the attribute {name!r}")
        return attributes[name]

    def text(self, piece: str) -> None:
        if self.data is not None:
            self.said.append(piece)

    def end(self, name: str) -> None:
        element = self.open.pop()
        if element in ("graph", "node", "edge"):
            fields = self.fields.pop()
            for key, value in (self.defaults[element] | self.defaults["all"]).items():
                fields.setdefault(key, value)
        elif element == "data" and self.data is not None and self.fields:
            if self.data not in self.keys:
                raise BadInput(self.place, f"data of the key {self.data!r}, which no <key> declares")
            self.fields[-1][self.keys[self.data][1]] = "".join(self.said)
        elif element == "default" and self.keys:
            domain, field = list(self.keys.values())[-1]
            self.defaults.get(domain, {})[field] = "".join(self.said)
        if element in ("data", "default"):
            self.data = None


def parse(content: bytes) -> Graph:
    """The graph in the text; `BadInput` names line and column."""
    reader = _Reader()
    try:
        reader.parser.Parse(content, True)
    except expat.ExpatError as fault:
        problem = expat.errors.messages.get(fault.code, "it cannot be parsed")
        raise BadInput(f"line {fault.lineno} column {fault.offset + 1}", f"not XML: {problem}") from None
    except (LookupError, ValueError) as fault:
        raise BadInput(reader.place, f"not readable XML: {fault}") from None
    if reader.graph is None:
        raise BadInput("", "not GraphML: there is no <graph> in it")
    return reader.graph


def write(graph: Graph) -> str:
    """GraphML that other tools read too; refuses what XML cannot hold (control characters)."""
    domains = {
        "graph": [graph.fields],
        "node": [node.fields for node in graph.nodes],
        "edge": [edge.fields for edge in graph.edges],
    }
    types = {
        (domain, key): _TYPES[type(value)]
        for domain, items in domains.items()
        for item in items
        for key, value in item.items()
    }
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
    ]
    lines += [
        f'  <key id="{domain}_{key}" for="{domain}" attr.name="{key}" attr.type="{type_}"/>'
        for (domain, key), type_ in types.items()
    ]
    lines += ['  <graph edgedefault="undirected">', *_data(graph.fields, "graph")]
    for node in graph.nodes:
        lines += _element(f"    <node id={_attribute(node.id)}", node.fields, "node")
    for edge in graph.edges:
        start = f"    <edge source={_attribute(edge.source)} target={_attribute(edge.target)}"
        lines += _element(start, edge.fields, "edge")
    return "\n".join([*lines, "  </graph>", "</graphml>", ""])


def _element(start: str, fields: dict[str, Any], domain: str) -> list[str]:
    return [f"{start}>", *_data(fields, domain), f"    </{domain}>"] if fields else [f"{start}/>"]


def _data(fields: dict[str, Any], domain: str) -> list[str]:
    return [
        f'      <data key="{domain}_{key}">{escape(_allowed(str(value)), {chr(13): "&#13;"})}</data>'
        for key, value in fields.items()
    ]


def _attribute(value: str) -> str:
    return quoteattr(_allowed(value))


def _allowed(text: str) -> str:
    if found := _NO_XML.search(text):
        raise BadInput(repr(text), f"GraphML cannot hold the character U+{ord(found[0]):04X}; JSON can")
    return text
