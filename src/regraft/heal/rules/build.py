"""The parser's reductions: tokens become the parts of a rule while the text is read."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from lark import Token, Transformer, v_args

from regraft.heal.rules.syntax import (
    At,
    Binary,
    Call,
    Declaration,
    Expression,
    Literal,
    Misfit,
    Name,
    Occurrence,
    Open,
    Rule,
    Unary,
    depth,
)

MAX_DEPTH: Final = 60
MAX_PRIORITY: Final = 1_000
REQUIRED: Final = ("subject", "on", "do")


class Type(NamedTuple):
    text: str
    at: At


class Clause(NamedTuple):
    kind: str
    value: Any
    at: At


@dataclass(frozen=True)
class Found:
    """A rule before it is known where its text ends; `end` is 0 if its last brace is missing."""

    name: str
    at: At
    parameters: tuple[Declaration, ...]
    clauses: dict[str, Any]
    start: int
    end: int

    def rule(self, source: str) -> Rule:
        parts = self.clauses
        priority = parts.get("priority", 0)
        return Rule(
            *(self.name, self.parameters, parts["subject"], parts["on"], parts["do"], parts.get("when")),
            *(priority, self.at, source),
        )


def at(token: Token) -> At:
    return At(token.line or 0, token.column or 0)


@v_args(inline=True)
class Build(Transformer[Token, Any]):
    """Method names are the grammar's rules; see `parser.GRAMMAR`."""

    def start(self, *rules: Found) -> list[Found]:
        return list(rules)

    def rule(self, kind: Token, name: Token, *rest: Any) -> Found:
        parameters: tuple[Declaration, ...] = ()
        clauses: dict[str, Any] = {}
        end = 0
        for part in rest:
            match part:
                case Token():
                    end = part.end_pos or 0
                case Clause():
                    if part.kind in clauses:
                        raise Misfit(part.at, f"a second `{part.kind}` in the rule {str(name)!r}")
                    clauses[part.kind] = part.value
                case _:
                    parameters = part
        for needed in REQUIRED:
            if needed not in clauses:
                raise Misfit(at(name), f"the rule {str(name)!r} has no `{needed}`")
        return Found(str(name), at(name), parameters, clauses, kind.start_pos or 0, end)

    def parameters(self, *parameters: Declaration) -> tuple[Declaration, ...]:
        _distinct(parameters)
        return parameters

    def parameter(self, type: Type, name: Token, *default: Any) -> Declaration:
        return Declaration(type.text, str(name), at(name), _signed(*default) if default else None)

    def type(self, name: Token, inner: Type | None = None) -> Type:
        return Type(f"{name}<{inner.text}>" if inner else str(name), at(name))

    def subject(self, path: Name) -> Clause:
        return Clause("subject", str(path), path.at)

    def on(self, word: Token, name: Token, *arguments: Declaration) -> Clause:
        _distinct(arguments)
        return Clause("on", Occurrence(str(name), arguments, at(name)), at(word))

    def do(self, word: Token, *calls: Call) -> Clause:
        return Clause("do", calls, at(word))

    def when(self, word: Token, expression: Expression) -> Clause:
        return Clause("when", expression, at(word))

    def priority(self, word: Token, *value: Any) -> Clause:
        literal = _signed(*value)
        number = literal.value
        if isinstance(number, str | bool) or number != int(number) or abs(number) > MAX_PRIORITY:
            raise Misfit(literal.at, f"a priority is a whole number from -{MAX_PRIORITY} to {MAX_PRIORITY}")
        return Clause("priority", int(number), at(word))

    def argument(self, *parts: Any) -> Declaration:
        *type, name = parts
        return Declaration(type[0].text if type else "", str(name), at(name))

    def call(self, target: Token, action: Token, *arguments: Expression) -> Call:
        return Call(str(target), str(action), arguments, at(action))

    def binary(self, left: Expression, operator: Token, right: Expression) -> Binary:
        words = {"or": "||", "and": "&&"}
        deep = 1 + max(depth(left), depth(right))
        return Binary(words.get(operator, str(operator)), left, right, at(operator), _limited(deep, operator))

    def unary(self, operator: Token, operand: Expression) -> Unary:
        sign = "!" if operator == "not" else str(operator)
        return Unary(sign, operand, at(operator), _limited(1 + depth(operand), operator))

    def open(self, token: Token) -> Open:
        return Open(at(token))

    def method(self, path: Name) -> Name:
        return Name(path.parts, path.at, True)

    def path(self, *names: Token) -> Name:
        return Name(tuple(map(str, names)), at(names[0]))

    def literal(self, token: Token) -> Literal:
        match token.type:
            case "TRUE" | "FALSE":
                return Literal(token.type == "TRUE", at(token))
            case "STRING":
                return Literal(str(token)[1:-1], at(token))
        number = float(token)
        if number in (float("inf"), float("-inf")):
            raise Misfit(at(token), "this number is too large")
        return Literal(number, at(token))


def _signed(*parts: Any) -> Literal:
    *minus, literal = parts
    if not minus:
        return literal  # type: ignore[no-any-return]
    if isinstance(literal.value, str | bool):
        raise Misfit(literal.at, "only a number can be negative")
    return Literal(-literal.value, literal.at)


def _limited(deep: int, token: Token) -> int:
    if deep > MAX_DEPTH:
        raise Misfit(at(token), f"the condition is nested more than {MAX_DEPTH} deep")
    return deep


def _distinct(declarations: tuple[Declaration, ...]) -> None:
    seen: set[str] = set()
    for each in declarations:
        if each.name in seen:
            raise Misfit(each.at, f"the name {each.name!r} stands twice")
        seen.add(each.name)
