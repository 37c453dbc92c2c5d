"""GML: text to `Graph` and back.

GML is a tree of `key value` and `key [ … ]`. Its node ids are whole numbers, so a broker's id is written
beside them as `broker "b0"`; in a file without that (such as the Topology Zoo's) the numbers are the ids.
Text is written as ASCII with character references (`&#233;`), as the format requires; plain UTF-8 is read
too.
"""

import re
from collections.abc import Iterator
from html.entities import name2codepoint
from typing import Any, NamedTuple

from regraft.model.errors import BadInput
from regraft.model.fields import brief
from regraft.model.graph_files import Edge, Graph, Node

_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
      | (?P<key>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<real>[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?)
      | (?P<int>[+-]?[0-9]+)
      | "(?P<text>[^"]*)"
      | (?P<open>\[) | (?P<close>\])
      | (?P<bad>.)""",
    re.VERBOSE | re.ASCII,
)
_REFERENCE = re.compile(r"&(?:#([0-9]{1,7})|#x([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]*));")


class _Entry(NamedTuple):
    """`key value` at a line; a value in brackets is a list of entries."""

    key: str
    value: Any
    line: int


def parse(text: str) -> Graph:
    """The graph in the text; `BadInput` names the line."""
    graphs = [entry for entry in _entries(text) if entry.key == "graph" and isinstance(entry.value, list)]
    if len(graphs) != 1:
        raise BadInput("", f"not GML: one 'graph [ … ]' is needed, not {len(graphs)}")
    nodes, names = [], {}
    for entry in graphs[0].value:
        if entry.key == "node":
            fields = _fields(entry)
            number = _required(fields, "id", entry)
            if number in names:
                raise BadInput(f"line {entry.line}", f"node id {number} is given twice")
            names[number] = str(fields.get("broker", number))
            nodes.append(Node(names[number], entry.line, fields))
    edges = []
    for entry in graphs[0].value:
        if entry.key == "edge":
            fields = _fields(entry)
            ends = [_required(fields, end, entry) for end in ("source", "target")]
            unknown = [end for end in ends if end not in names]
            if unknown:
                raise BadInput(f"line {entry.line}", f"unknown broker id {str(unknown[0])!r}")
            edges.append(Edge(names[ends[0]], names[ends[1]], entry.line, fields))
    return Graph(_fields(graphs[0]), nodes, edges)


def _entries(text: str) -> list[_Entry]:
    """The whole text as a tree of entries, without recursion."""
    outer: list[_Entry] = []
    stack = [outer]
    key: tuple[str, int] | None = None
    for kind, value, line in _tokens(text):
        if kind == "key" and key is None:
            key = (value, line)
        elif kind == "close" and key is None and len(stack) > 1:
            stack.pop()
        elif kind == "open" and key is not None:
            inner: list[_Entry] = []
            stack[-1].append(_Entry(key[0], inner, key[1]))
            stack.append(inner)
            key = None
        elif kind == "value" and key is not None:
            stack[-1].append(_Entry(key[0], value, line))
            key = None
        else:
            expected = "a key" if key is None else f"a value for the key {key[0]!r}"
            raise BadInput(f"line {line}", f"not GML: {expected} was expected, not {brief(value)}")
    if key is not None or len(stack) > 1:
        raise BadInput(
            f"line {text.count(chr(10)) + 1}", "not GML: the text ends before a value or a bracket"
        )
    return outer


def _tokens(text: str) -> Iterator[tuple[str, Any, int]]:
    line = 1
    for match in _TOKEN.finditer(text):
        kind, found = match.lastgroup, match[0]
        if kind == "space":
            line += found.count("\n")
        elif kind == "key":
            yield kind, found, line
        elif kind == "int" or kind == "real":  # noqa: PLR1714, the hot path
            yield "value", _number(found, line, int if kind == "int" else float), line
        elif kind == "text":
            text_in = match["text"]
            yield "value", _REFERENCE.sub(_character, text_in) if "&" in text_in else text_in, line
            line += found.count("\n")
        elif kind == "bad":
            column = match.start() - text.rfind("\n", 0, match.start())
            raise BadInput(f"line {line} column {column}", f"not GML: {found!r} was not expected here")
        else:
            yield str(kind), found, line


def _number(found: str, line: int, type_: type[int] | type[float]) -> int | float:
    try:
        return type_(found)
    except ValueError:
        raise BadInput(f"line {line}", "not GML: a number has too many digits") from None


def _character(reference: re.Match[str]) -> str:
    decimal, hexadecimal, name = reference.groups()
    code = name2codepoint.get(name) if name else int(decimal or hexadecimal, 10 if decimal else 16)
    return reference[0] if code is None or code > 0x10FFFF else chr(code)


def _fields(entry: _Entry) -> dict[str, Any]:
    if not isinstance(entry.value, list):
        raise BadInput(f"line {entry.line}", f"'{entry.key} [ … ]' is needed, not {brief(entry.value)}")
    return {inner.key: inner.value for inner in entry.value if not isinstance(inner.value, list)}


def _required(fields: dict[str, Any], key: str, entry: _Entry) -> Any:
    if not isinstance(fields.get(key), int | str):
        raise BadInput(f"line {entry.line}", f"the {entry.key} needs a whole number as {key!r}")
    return fields[key]


def write(graph: Graph) -> str:
    """GML that other tools read too: numbers as node ids, the brokers' ids under `broker`."""
    number = {node.id: index for index, node in enumerate(graph.nodes)}
    lines = ["graph [", *_lines(graph.fields, "  ")]
    for node in graph.nodes:
        named = {"id": number[node.id], "broker": node.id}
        lines += ["  node [", *_lines(named | node.fields, "    "), "  ]"]
    for edge in graph.edges:
        joined = {"source": number[edge.source], "target": number[edge.target]}
        lines += ["  edge [", *_lines(joined | edge.fields, "    "), "  ]"]
    return "\n".join([*lines, "]", ""])


def _lines(fields: dict[str, Any], indent: str) -> list[str]:
    return [f"{indent}{key} {_written(value)}" for key, value in fields.items()]


def _written(value: Any) -> str:
    if isinstance(value, float):
        mantissa, mark, exponent = repr(value).partition("e")
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}{mark}{exponent}"
    if isinstance(value, int):
        return str(value)
    return '"' + re.sub(r"[^ !#-%\'-~]", lambda found: f"&#{ord(found[0])};", value) + '"'
