"""The parts of an expression (CESQL 1.0 §2) and its canonical text.

Operators of equal precedence that follow one another are one node, a `Chain` evaluated from left to right
(§3.6), so that a long chain is wide, not deep: the depth of a tree is the nesting that its author wrote,
and the parser limits it. That is why functions over these trees may call themselves.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from regraft.filters.steps import Steps, finish
from regraft.filters.values import Value


@dataclass(frozen=True, slots=True)
class Literal:
    value: Value


@dataclass(frozen=True, slots=True)
class Attribute:
    name: str


@dataclass(frozen=True, slots=True)
class Exists:
    name: str


@dataclass(frozen=True, slots=True)
class Unary:
    """`NOT x` or `-x`."""

    operator: str
    operand: "Node"


@dataclass(frozen=True, slots=True)
class Chain:
    """`first op x op y …`; all operators are of one precedence and group to the left."""

    first: "Node"
    rest: tuple[tuple[str, "Node"], ...]


@dataclass(frozen=True, slots=True)
class Like:
    operand: "Node"
    pattern: str
    negated: bool


@dataclass(frozen=True, slots=True)
class In:
    operand: "Node"
    elements: tuple["Node", ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple["Node", ...]


Node = Literal | Attribute | Exists | Unary | Chain | Like | In | Call

LOGIC: Final = frozenset(("AND", "OR", "XOR"))
COMPARISONS: Final = frozenset(("=", "!=", "<", "<=", ">", ">="))
SUMS: Final = frozenset(("+", "-"))
_TERM, _FACTOR, _POSTFIX, _UNARY, _ATOM = 2, 3, 4, 5, 6


def attributes_of(node: Node) -> frozenset[str]:
    """The attributes that an expression refers to."""
    return finish(attributes_in_steps(node))


def attributes_in_steps(node: Node) -> Steps[frozenset[str]]:
    """`attributes_of`, step by step."""
    found: set[str] = set()
    for part in _parts(node):
        if isinstance(part, Attribute | Exists):
            found.add(part.name)
            yield
    return frozenset(found)


def is_constant(node: Node) -> bool:
    """Whether an expression refers to no attribute."""
    return not any(isinstance(part, Attribute | Exists) for part in _parts(node))


def _parts(node: Node) -> Iterator[Node]:
    """The node and everything under it, in no particular order."""
    left = [node]
    while left:
        part = left.pop()
        yield part
        match part:
            case Unary(_, operand) | Like(operand):
                left.append(operand)
            case Chain(first, rest):
                left += [each for _, each in rest]
                left.append(first)
            case In(operand, elements):
                left += elements
                left.append(operand)
            case Call(_, arguments):
                left += arguments


def text_in_steps(node: Node) -> Steps[str]:  # noqa: PLR0911 - one case per kind of node
    """The canonical text, step by step."""
    match node:
        case Literal(value):
            return _literal(value)
        case Attribute(name):
            return name
        case Exists(name):
            return f"EXISTS {name}"
        case Unary(operator, operand):
            return _unary(operator, operand, (yield from _inside(operand, _UNARY)))
        case Chain(first, rest):
            level = _level(node)
            # Without parentheses, a first operand of equal precedence would be read as part of this chain.
            texts = [(yield from _inside(first, level + 1))]
            for operator, part in rest:
                texts.append(f"{operator} {(yield from _inside(part, level + 1))}")
                yield
            return " ".join(texts)
        case Like(operand, pattern, negated):
            inner = yield from _inside(operand, _POSTFIX)
            return f"{inner} {'NOT ' * negated}LIKE {quoted(pattern)}"
        case In(operand, elements, negated):
            inner = yield from _inside(operand, _POSTFIX)
            return f"{inner} {'NOT ' * negated}IN ({(yield from _listed(elements))})"
        case Call(function, arguments):
            return f"{function}({(yield from _listed(arguments))})"


def _listed(nodes: Iterable[Node]) -> Steps[str]:
    texts = []
    for node in nodes:
        texts.append((yield from text_in_steps(node)))
        yield
    return ", ".join(texts)


def _unary(operator: str, operand: Node, inner: str) -> str:
    if operator == "NOT":
        return f"NOT {inner}"
    # Without the space, the parser would read a minus before digits as their sign.
    return f"- {inner}" if isinstance(operand, Literal) else f"-{inner}"


def _inside(node: Node, level: int) -> Steps[str]:
    text = yield from text_in_steps(node)
    return text if _level(node) >= level else f"({text})"


def _level(node: Node) -> int:
    match node:
        case Chain(_, rest):
            operator = rest[0][0]
            if operator in LOGIC:
                return 0
            return 1 if operator in COMPARISONS else _TERM if operator in SUMS else _FACTOR
        case Like() | In():
            return _POSTFIX
        case Unary():
            return _UNARY
        case _:
            return _ATOM


def _literal(value: Value) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    text = repr(value)
    if isinstance(value, float) and "." not in text:
        return text.replace("e", ".0e")
    return text


def quoted(text: str) -> str:
    """The text as a string literal. A backslash is an escape only before the delimiter, so a text that cannot
    be written with one of the two quotes can be written with the other."""
    single = "'" + text.replace("'", "\\'") + "'"
    return single if unquoted(single) == text else '"' + text.replace('"', '\\"') + '"'


_PAIR = re.compile(r"\\(.)", re.DOTALL)
_SINGLE = re.compile(r"'(?:\\.|[^'\\])*'", re.DOTALL)


def unquoted(literal: str) -> str | None:
    """The string that a literal stands for. Only the delimiter can be escaped; other backslashes stay,
    because LIKE patterns use them."""
    delimiter, body = literal[0], literal[1:-1]
    if delimiter == "'" and _SINGLE.fullmatch(literal) is None:
        return None
    if "\\" not in body:
        return body
    return _PAIR.sub(lambda pair: pair[1] if pair[1] == delimiter else pair[0], body)
