"""Evaluation of an expression to a value and an error (CESQL 1.0 §3, complete evaluation mode of §4.1).

This is the reference semantics, written for clarity; `compiled` is the fast way to the one bit that
routing needs. An expression becomes a function of the event's attributes. After an error the evaluation
goes on with the value that the specification prescribes; the first error is reported.

The conformance kit pins one case against the table of casts: NOT of a number is a cast error.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Final

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
from regraft.filters.values import Value, known, number_of, text_of, truth_of

Attributes = Mapping[str, Value]
# None as a value: the operand is a missing attribute. Its consumer turns it into a zero (§3.2).
Partial = tuple[Value | None, Fault | None]
Evaluator = Callable[[Attributes], Partial]

ORDER: Final[dict[str, Callable[[float, float], bool]]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
MISSING: Final = Fault.MISSING_ATTRIBUTE


def evaluator(node: Node) -> Evaluator:
    return finish(making(node))


def making(node: Node) -> Steps[Evaluator]:  # noqa: PLR0911 - one case per kind of node
    """The same, step by step."""
    yield
    match node:
        case Literal(value):
            return lambda event: (value, None)
        case Attribute(name):
            return _attribute(name)
        case Exists(name):
            return lambda event: (known(event.get(name)) is not None, None)
        case Unary(operator, operand):
            return _unary(operator, (yield from making(operand)))
        case Chain(first, rest):
            start = yield from making(first)
            parts = yield from _all([part for _, part in rest])
            return _chain(start, [(operator, part) for (operator, _), part in zip(rest, parts, strict=True)])
        case Like(operand, pattern, negated):
            return _like((yield from making(operand)), pattern, negated)
        case In(operand, elements, negated):
            inner = yield from making(operand)
            return _in(inner, (yield from _all(elements)), negated)
        case Call(function, arguments):
            return _call(find_function(function, len(arguments)), (yield from _all(arguments)))


def _all(nodes: Sequence[Node]) -> Steps[list[Evaluator]]:
    found = []
    for node in nodes:
        found.append((yield from making(node)))
    return found


def evaluate(run: Evaluator, event: Attributes) -> Outcome:
    value, fault = run(event)
    return (False, MISSING) if value is None else (value, fault)


def _attribute(name: str) -> Evaluator:
    def run(event: Attributes) -> Partial:
        value = known(event.get(name))
        return value, MISSING if value is None else None

    return run


def _unary(operator: str, operand: Evaluator) -> Evaluator:
    def run(event: Attributes) -> Partial:
        value, fault = operand(event)
        if operator == "NOT":
            if value is None:
                return False, fault
            truth, bad = negatable(value)
            return not truth, fault or bad
        if value is None:
            return 0, fault
        number, bad = to_number(value)
        result, wrong = negate(number)
        return result, fault or bad or wrong

    return run


def negatable(value: Value) -> tuple[bool, Fault | None]:
    """The operand of NOT as a boolean; numbers are refused, see the top of this file."""
    return to_truth(value) if isinstance(value, bool | str) else (False, Fault.CAST)


def _chain(first: Evaluator, rest: list[tuple[str, Evaluator]]) -> Evaluator:
    step = _logic if rest[0][0] in LOGIC else _comparison if rest[0][0] in COMPARISONS else _arithmetic

    def run(event: Attributes) -> Partial:
        done = first(event)
        for operator, part in rest:
            done = step(operator, done, part, event)
        return done

    return run


def _logic(operator: str, left: Partial, right: Evaluator, event: Attributes) -> Partial:
    if left[0] is None:
        return False, left[1]
    x, bad = to_truth(left[0])
    fault = left[1] or bad
    if x is (operator == "OR") and operator != "XOR":
        return x, fault
    value, wrong = right(event)
    if value is None:
        return False, fault or wrong
    y, bad = to_truth(value)
    return x is not y if operator == "XOR" else y, fault or wrong or bad


def _comparison(operator: str, left: Partial, right: Evaluator, event: Attributes) -> Partial:
    value, wrong = right(event)
    fault = left[1] or wrong
    if left[0] is None or value is None:
        return False, fault
    result, bad = compare(operator, left[0], value)
    return result, fault or bad


def compare(operator: str, x: Value, y: Value) -> tuple[bool, Fault | None]:
    """`x op y` after the casts of §3.7: for = and != the right operand decides the type."""
    if operator not in ("=", "!="):
        a, bad = to_number(x)
        b, wrong = to_number(y)
        return ORDER[operator](a, b), bad or wrong
    equal, bad = equals_as(y, x)
    return equal is (operator == "="), bad


def equals_as(kind: Value, other: Value) -> tuple[bool, Fault | None]:
    """Whether `other`, cast to the type of `kind`, equals it."""
    if isinstance(kind, str):
        return kind == text_of(other), None
    cast = truth_of(other) if isinstance(kind, bool) else number_of(other)
    # A failed cast goes on with the zero value of its type, and false == 0.
    return (kind == 0, Fault.CAST) if cast is None else (kind == cast, None)


def _arithmetic(operator: str, left: Partial, right: Evaluator, event: Attributes) -> Partial:
    value, wrong = right(event)
    fault = left[1] or wrong
    if left[0] is None or value is None:
        return 0, fault
    x, bad = to_number(left[0])
    y, worse = to_number(value)
    result, worst = calculate(operator, x, y)
    return result, fault or bad or worse or worst


def _like(operand: Evaluator, pattern: str, negated: bool) -> Evaluator:
    is_like = like_test(pattern)

    def run(event: Attributes) -> Partial:
        value, fault = operand(event)
        if value is None:
            return False, fault
        found, bad = is_like(value)
        return found is not negated, fault or bad

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

    def run(event: Attributes) -> Partial:
        value, fault = operand(event)
        if value is None:
            return False, fault
        for element in elements:
            other, wrong = element(event)
            if other is None:
                return False, fault or wrong
            equal, bad = equals_as(value, other)
            fault = fault or wrong or bad
            if equal and bad is None:
                return not negated, fault
        return negated, fault

    return run


def _call(signature: Signature | None, arguments: list[Evaluator]) -> Evaluator:
    if signature is None:
        return lambda event: (False, Fault.MISSING_FUNCTION)
    casts = signature.casts + signature.casts[-1:] * (len(arguments) - len(signature.casts))

    def run(event: Attributes) -> Partial:
        fault: Fault | None = None
        values = []
        for argument, cast in zip(arguments, casts, strict=True):
            value, wrong = argument(event)
            if value is None:
                return signature.zero, fault or wrong
            converted, bad = cast(value)
            fault = fault or wrong or bad
            values.append(converted)
        result, wrong = signature.body(*values)
        return result, fault or wrong

    return run
