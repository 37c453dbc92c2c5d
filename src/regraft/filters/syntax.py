"""The parts of an expression (CESQL 1.0 §2) and its canonical text.

Operators of equal precedence that follow one another are one node, a `Chain` evaluated from left to right
(§3.6), so that a long chain is wide, not deep: the depth of a tree is the nesting that its author wrote,
and the parser limits it. That is why functions over these trees may call themselves.
"""

import re
from dataclasses import dataclass
from typing import Final

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
    match node:
        case Literal():
            return frozenset()
        case Attribute(name) | Exists(name):
            return frozenset((name,))
        case Unary(_, operand) | Like(operand):
            return attributes_of(operand)
        case Chain(first, rest):
            return attributes_of(first).union(*(attributes_of(part) for _, part in rest))
        case In(operand, elements):
            return attributes_of(operand).union(*map(attributes_of, elements))
        case Call(_, arguments):
            return frozenset[str]().union(*map(attributes_of, arguments))


def text_of_node(node: Node) -> str:  # noqa: PLR0911 - one case per kind of node
    """The canonical text: parsing it gives an equal tree."""
    match node:
        case Literal(value):
            return _literal(value)
        case Attribute(name):
            return name
        case Exists(name):
            return f"EXISTS {name}"
        case Unary(operator, operand):
            return _unary(operator, operand)
        case Chain(first, rest):
            level = _level(node)
            # On the left an equal precedence would be read as part of the same chain.
            parts = [_inside(first, level + 1)]
            parts += [f"{operator} {_inside(part, level + 1)}" for operator, part in rest]
            return " ".join(parts)
        case Like(operand, pattern, negated):
            return f"{_inside(operand, _POSTFIX)} {'NOT ' * negated}LIKE {quoted(pattern)}"
        case In(operand, elements, negated):
            members = ", ".join(map(text_of_node, elements))
            return f"{_inside(operand, _POSTFIX)} {'NOT ' * negated}IN ({members})"
        case Call(function, arguments):
            return f"{function}({', '.join(map(text_of_node, arguments))})"


def _unary(operator: str, operand: Node) -> str:
    inner = _inside(operand, _UNARY)
    if operator == "NOT":
        return f"NOT {inner}"
    # Without the space a minus before digits would be read as their sign.
    return f"- {inner}" if isinstance(operand, Literal) else f"-{inner}"


def _inside(node: Node, level: int) -> str:
    text = text_of_node(node)
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
    """A string literal. A backslash is an escape only before the delimiter, so one of the two quotes fits."""
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
