"""The parts of a rule as written, each with its place in the text; and faults, which name such a place."""

from dataclasses import dataclass
from typing import NamedTuple

from regraft.model import BadInput


class At(NamedTuple):
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


class BadRule(BadInput):
    """A rule that does not parse, or says what cannot be; `place` ends in line:column."""


class Misfit(BadRule):
    """Seen from within the text: `within_text` adds where the text is from."""

    def __init__(self, at: At, rule: str) -> None:
        super().__init__(str(at), rule)

    def within_text(self, place: str) -> BadRule:
        return BadRule(placed(place, self.place), self.rule)


def placed(place: str, at: At | str) -> str:
    return f"{place}:{at}" if place else str(at)


@dataclass(frozen=True, slots=True)
class Literal:
    value: float | str | bool
    at: At


@dataclass(frozen=True, slots=True)
class Open:
    """`User Defined`: a value that is given when the rule is stored."""

    at: At


@dataclass(frozen=True, slots=True)
class Name:
    """`cpu`, `broker.cpu`; with `call`, `brokers.getBrokersID()`."""

    parts: tuple[str, ...]
    at: At
    call: bool = False

    def __str__(self) -> str:
        return ".".join(self.parts) + ("()" if self.call else "")


@dataclass(frozen=True, slots=True)
class Unary:
    """`!x` or `-x`."""

    operator: str
    operand: "Expression"
    at: At
    depth: int


@dataclass(frozen=True, slots=True)
class Binary:
    """`depth`: how far its parts are nested; the parser limits it, so that recursion over it is safe."""

    operator: str
    left: "Expression"
    right: "Expression"
    at: At
    depth: int


Expression = Literal | Open | Name | Unary | Binary


def depth(expression: Expression) -> int:
    return expression.depth if isinstance(expression, Unary | Binary) else 1


@dataclass(frozen=True, slots=True)
class Declaration:
    """`Broker<T> broker`, `float most = 0.9`; of an event's arguments the type may be missing."""

    type: str
    name: str
    at: At
    default: Literal | None = None


@dataclass(frozen=True, slots=True)
class Occurrence:
    """What follows `on`."""

    name: str
    arguments: tuple[Declaration, ...]
    at: At


@dataclass(frozen=True, slots=True)
class Call:
    """One action of `do`: `database.deleteBroker(broker)`."""

    target: str
    action: str
    arguments: tuple[Expression, ...]
    at: At


@dataclass(frozen=True, slots=True)
class Rule:
    """`source` is the text that it was read from. Every rule has `subject`, `on` and `do`."""

    name: str
    parameters: tuple[Declaration, ...]
    subject: str
    on: Occurrence
    do: tuple[Call, ...]
    when: Expression | None
    priority: int
    at: At
    source: str
