"""Evaluation of an expression to a value and an error (CESQL 1.0 §3, fail fast mode of §4.1).

This is the reference semantics, written for clarity; `compiled` only says whether an event matches, which is
all that routing needs, and is faster. An expression becomes a function of the event's attributes.

An operator or a function that meets an error, in an operand or in the cast of one, returns the zero value
of its own type beside that error (§3.3), so the first error is the one reported. The functions that name
another value for a case of their own (`LEFT('abc', -1)`, `ABS` of the least integer) return that value.

The conformance kit demands one exception from the table of casts and from this rule: NOT of a number is a
cast error, and its value is true.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Final, TypeVar

from regraft.filters.functions import (
    Fault,
    Outcome,
    Signature,
    calculate,
    find_function,
    negate,
    to_number,
    to_text,
    to_truth,
)
from regraft.filters.like import literal_of, matcher
from regraft.filters.steps import Steps, finish
from regraft.filters.syntax import (
    COMPARISONS,
    LOGIC,
    Attribute,
    Call,
    Chain,
    Exists,
    In,
    Like,
    Literal,
    Node,
    Unary,
)
from regraft.filters.values import Value, as_value, number_of, text_of, truth_of

Attributes = Mapping[str, Value]
Evaluator = Callable[[Attributes], Outcome]

ORDER: Final[dict[str, Callable[[float, float], bool]]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
T = TypeVar("T")


def evaluator(node: Node) -> Evaluator:
    return finish(evaluator_in_steps(node))


def evaluator_in_steps(node: Node) -> Steps[Evaluator]:  # noqa: PLR0911 - one case per kind of node
    """`evaluator`, step by step."""
    yield
    match node:
        case Literal(value):
            return lambda event: (value, None)
        case Attribute(name):
            return _attribute(name)
        case Exists(name):
            return lambda event: (as_value(event.get(name)) is not None, None)
        case Unary(operator, operand):
            return _unary(operator, (yield from evaluator_in_steps(operand)))
        case Chain(first, rest):
            start = yield from evaluator_in_steps(first)
            parts = yield from _all([part for _, part in rest])
            return _chain(start, [(operator, part) for (operator, _), part in zip(rest, parts, strict=True)])
        case Like(operand, pattern, negated):
            return _like((yield from evaluator_in_steps(operand)), pattern, negated)
        case In(operand, elements, negated):
            inner = yield from evaluator_in_steps(operand)
            return _in(inner, (yield from _all(elements)), negated)
        case Call(function, arguments):
            return _call(find_function(function, len(arguments)), (yield from _all(arguments)))


def _all(nodes: Sequence[Node]) -> Steps[list[Evaluator]]:
    found = []
    for node in nodes:
        found.append((yield from evaluator_in_steps(node)))
    return found


def _attribute(name: str) -> Evaluator:
    def run(event: Attributes) -> Outcome:
        value = as_value(event.get(name))
        return (False, Fault.MISSING_ATTRIBUTE) if value is None else (value, None)

    return run


def _unary(operator: str, operand: Evaluator) -> Evaluator:
    def run(event: Attributes) -> Outcome:
        value, fault = operand(event)
        if operator == "NOT":
            truth, bad = negatable(value)
            return (False, fault) if fault else (not truth, bad)
        number, bad = to_number(value)
        return (0, fault or bad) if fault or bad else negate(number)

    return run


def negatable(value: Value) -> tuple[bool, Fault | None]:
    """The operand of NOT as a boolean; numbers are refused, see the top of this file."""
    return to_truth(value) if isinstance(value, bool | str) else (False, Fault.CAST)


def _chain(first: Evaluator, rest: list[tuple[str, Evaluator]]) -> Evaluator:
    step = _logic if rest[0][0] in LOGIC else _comparison if rest[0][0] in COMPARISONS else _arithmetic

    def run(event: Attributes) -> Outcome:
        done = first(event)
        for operator, part in rest:
            done = step(operator, done, part, event)
        return done

    return run


def _logic(operator: str, left: Outcome, right: Evaluator, event: Attributes) -> Outcome:
    x, fault = _cast(left, to_truth)
    if fault:
        return False, fault
    if x is (operator == "OR") and operator != "XOR":
        return x, None
    y, fault = _cast(right(event), to_truth)
    if fault:
        return False, fault
    return x is not y if operator == "XOR" else y, None


def _comparison(operator: str, left: Outcome, right: Evaluator, event: Attributes) -> Outcome:
    value, wrong = right(event)
    fault = left[1] or wrong
    return (False, fault) if fault else compare(operator, left[0], value)


def compare(operator: str, x: Value, y: Value) -> tuple[bool, Fault | None]:
    """`x op y` after the casts of §3.7: for = and != the right operand decides the type."""
    if operator in ("=", "!="):
        equal, fault = equals_as(y, x)
        return (False, fault) if fault else (equal is (operator == "="), None)
    a, bad = to_number(x)
    b, wrong = to_number(y)
    fault = bad or wrong
    return (False, fault) if fault else (ORDER[operator](a, b), None)


def equals_as(kind: Value, other: Value) -> tuple[bool, Fault | None]:
    """Whether `other`, cast to the type of `kind`, equals it."""
    if isinstance(kind, str):
        return kind == text_of(other), None
    cast = truth_of(other) if isinstance(kind, bool) else number_of(other)
    return (False, Fault.CAST) if cast is None else (kind == cast, None)


def _arithmetic(operator: str, left: Outcome, right: Evaluator, event: Attributes) -> Outcome:
    x, bad = _cast(left, to_number)
    y, wrong = _cast(right(event), to_number)
    fault = bad or wrong
    return (0, fault) if fault else calculate(operator, x, y)


def _cast(operand: Outcome, cast: Callable[[Value], tuple[T, Fault | None]]) -> tuple[T, Fault | None]:
    """The operand as the type that the operator needs, and the error in it or in the cast."""
    value, fault = operand
    converted, bad = cast(value)
    return converted, fault or bad


def _like(operand: Evaluator, pattern: str, negated: bool) -> Evaluator:
    is_like = like_test(pattern)

    def run(event: Attributes) -> Outcome:
        found, fault = _cast(operand(event), is_like)
        return (False, fault) if fault else (found is not negated, None)

    return run


def like_test(pattern: str) -> Callable[[Value], tuple[bool, Fault | None]]:
    """`x LIKE pattern`; a text that is too long is refused, unless the pattern is a plain text."""
    literal = literal_of(pattern)
    if literal is not None:
        return lambda value: (text_of(value) == literal, None)
    test = matcher(pattern)

    def is_like(value: Value) -> tuple[bool, Fault | None]:
        text, fault = to_text(value)
        return fault is None and test(text), fault

    return is_like


def _in(operand: Evaluator, elements: list[Evaluator], negated: bool) -> Evaluator:
    """Elements are looked at from the left until one is equal; errors behind it do not count."""

    def run(event: Attributes) -> Outcome:
        value, fault = operand(event)
        if fault:
            return False, fault
        for element in elements:
            equal, fault = _cast(element(event), lambda other: equals_as(value, other))
            if fault:
                return False, fault
            if equal:
                return not negated, None
        return negated, None

    return run


def _call(signature: Signature | None, arguments: list[Evaluator]) -> Evaluator:
    if signature is None:
        return lambda event: (False, Fault.MISSING_FUNCTION)
    casts = signature.casts + signature.casts[-1:] * (len(arguments) - len(signature.casts))

    def run(event: Attributes) -> Outcome:
        values = []
        for argument, cast in zip(arguments, casts, strict=True):
            value, fault = _cast(argument(event), cast)
            if fault:
                return signature.zero, fault
            values.append(value)
        return signature.body(*values)

    return run
