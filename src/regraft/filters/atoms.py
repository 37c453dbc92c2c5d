"""Atoms: the parts of a filter that test one attribute against constants.

Each atom knows the values for which it is true and those for which it is false; for the others (a missing
attribute, a failed cast) it is an error, which is neither (CESQL 1.0 §1.2, §3.7). Compiler and normal form
both start from here, so that they cannot disagree on what an atom is.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import TypeVar

from regraft.filters.evaluate import compare, equals_as, evaluator, like_test, negatable
from regraft.filters.intervals import NOTHING, Interval, Intervals, complement, point, unite
from regraft.filters.like import literal_of
from regraft.filters.normal import (
    ABSENT,
    BOTH_BOOLS,
    NEVER,
    NO_BOOLS,
    PRESENT,
    Constraint,
    Strings,
    numbers_and_their_spellings,
)
from regraft.filters.steps import Steps, finish
from regraft.filters.syntax import (
    COMPARISONS,
    Attribute,
    Chain,
    Exists,
    In,
    Like,
    Literal,
    Node,
    is_constant,
)
from regraft.filters.values import Number, Value, as_value, number_of, number_with_text, text_of, truth_of

T = TypeVar("T")
FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Atom:
    """`true` and `false` are the attribute's values with that outcome. If not `exact`, both are too large
    (only the presence of the attribute is known) and `test` decides. `comparison` is set for `x op c`."""

    attribute: str
    true: Constraint
    false: Constraint
    test: Callable[[object], bool | None]
    exact: bool = True
    comparison: tuple[str, Value] | None = None


def atom_of(node: Node) -> Atom | None:
    """The atom that a node is, or None."""
    return finish(atom_in_steps(node))


def atom_in_steps(node: Node) -> Steps[Atom | None]:
    """`atom_of`, step by step: the list of an IN may be long."""
    match node:
        case Exists(name):
            return Atom(name, PRESENT, ABSENT, lambda value: as_value(value) is not None)
        case Like(Attribute(name), pattern, negated):
            return _like(name, pattern, negated)
        case In(Attribute(name), elements, negated):
            constants = yield from _constants(elements)
            return None if constants is None else (yield from _member(name, constants, negated))
        case Chain(left, ((operator, right),)) if operator in COMPARISONS:
            return (yield from _comparison(left, operator, right))
        case _:
            return None


def truth_atom(name: str, under_not: bool) -> Atom:
    """An attribute where AND, OR, XOR or (`under_not`) NOT need a boolean."""
    true, false = _equal_to_boolean(True)
    if under_not:
        true, false = true._replace(numbers=NOTHING), false._replace(numbers=NOTHING)
    cast = negatable if under_not else lambda value: equals_as(True, value)
    return Atom(name, true, false, _tested(cast))


def _constants(nodes: Iterable[Node]) -> Steps[list[Value | None] | None]:
    """The values of these expressions, None for one whose evaluation fails; None if one has attributes."""
    found: list[Value | None] = []
    for node in nodes:
        yield
        if isinstance(node, Literal):
            found.append(node.value)
            continue
        if not is_constant(node):
            return None
        value, fault = evaluator(node)({})
        found.append(value if fault is None else None)
    return found


def _comparison(left: Node, operator: str, right: Node) -> Steps[Atom | None]:
    if isinstance(left, Attribute):
        name, other = left.name, right
    elif isinstance(right, Attribute):
        name, other = right.name, left
    else:
        return None
    constants = yield from _constants((other,))
    if constants is None:
        return None
    constant = constants[0]
    if constant is None:
        return Atom(name, NEVER, NEVER, lambda value: None)
    if isinstance(left, Attribute) or operator not in ("=", "!="):
        operator = operator if isinstance(left, Attribute) else FLIPPED[operator]
        true, false = _sides(operator, constant)
        test = _tested(lambda value: compare(operator, value, constant))
        return Atom(name, true, false, test, comparison=(operator, constant))
    # `constant = x`: the type of x decides, as for `x IN (constant)`.
    return (yield from _member(name, [constant], operator == "!="))


def _tested(test: Callable[[Value], tuple[bool, object]]) -> Callable[[object], bool | None]:
    def run(value: object) -> bool | None:
        seen = as_value(value)
        if seen is None:
            return None
        outcome, fault = test(seen)
        return outcome if fault is None else None

    return run


def _sides(operator: str, constant: Value) -> tuple[Constraint, Constraint]:
    """The values for which `x operator constant` is true, and those for which it is false."""
    if operator == "!=":
        true, false = _sides("=", constant)
        return false, true
    if operator == "=" and isinstance(constant, str):
        return _equal_to_text([constant])
    if operator == "=" and isinstance(constant, bool):
        return _equal_to_boolean(constant)
    number = number_of(constant)
    if number is None:
        return NEVER, NEVER
    inside = _range(operator, number)
    return numbers_and_their_spellings(inside), numbers_and_their_spellings(complement(inside))


def _range(operator: str, number: Number) -> Intervals:
    if operator == "=":
        return point(number)
    if operator[0] == "<":
        return (Interval(-inf, False, number, operator == "<="),)
    return (Interval(number, operator == ">", inf, True),)


def _equal_to_text(texts: Iterable[str]) -> tuple[Constraint, Constraint]:
    numbers: Intervals = NOTHING
    strings = frozenset(texts)
    for number in map(number_with_text, strings):
        numbers = numbers if number is None else unite(numbers, point(number))
    true = Constraint(
        numbers, Strings(exceptions=strings), frozenset(b for b in BOTH_BOOLS if text_of(b) in strings)
    )
    return true, PRESENT.and_(true.not_())


def _equal_to_boolean(constant: bool) -> tuple[Constraint, Constraint]:
    zero = point(0)
    sides = {
        truth: Constraint(
            complement(zero) if truth else zero, Strings(exceptions=_SPELLINGS[truth]), frozenset((truth,))
        )
        for truth in (False, True)
    }
    return sides[constant], sides[not constant]


_SPELLINGS = {
    truth: frozenset("".join(letters) for letters in product(*((c, c.upper()) for c in text_of(truth))))
    for truth in (False, True)
}


def _member(name: str, constants: Sequence[Value | None], negated: bool) -> Steps[Atom]:
    """`x IN (constants)`. The type of x decides the casts, so each type has its own set of elements; an
    element that cannot be cast is an error, and those behind it are never compared."""
    texts, texts_done = yield from _until_fault(text_of, constants)
    numbers, numbers_done = yield from _until_fault(number_of, constants)
    bools, bools_done = yield from _until_fault(truth_of, constants)
    points: Intervals = tuple(sorted(point(number)[0] for number in numbers))
    yield
    true = Constraint(points, Strings(exceptions=texts), bools)
    yield
    rest = PRESENT.and_(true.not_())
    yield
    false = Constraint(
        rest.numbers if numbers_done else NOTHING,
        rest.strings if texts_done else NEVER.strings,
        rest.bools if bools_done else NO_BOOLS,
    )

    def test(value: object) -> bool | None:
        seen = as_value(value)
        if seen is None:
            return None
        if isinstance(seen, str):
            found, done = seen in texts, texts_done
        elif isinstance(seen, bool):
            found, done = seen in bools, bools_done
        else:
            found, done = seen in numbers, numbers_done
        return found is not negated if found or done else None

    return Atom(name, false, true, test) if negated else Atom(name, true, false, test)


def _until_fault(
    cast: Callable[[Value], T | None], values: Sequence[Value | None]
) -> Steps[tuple[frozenset[T], bool]]:
    """The values after the cast, up to the first that cannot be cast; and whether all could be cast."""
    found: set[T] = set()
    for value in values:
        yield
        converted = None if value is None else cast(value)
        if converted is None:
            return frozenset(found), False
        found.add(converted)
    return frozenset(found), True


def _like(name: str, pattern: str, negated: bool) -> Atom:
    literal = literal_of(pattern)
    if literal is not None:
        operator = "!=" if negated else "="
        true, false = _sides(operator, literal)
        test = _tested(lambda value: compare(operator, value, literal))
        return Atom(name, true, false, test, comparison=(operator, literal))
    is_like = like_test(pattern)

    def like(value: Value) -> tuple[bool, object]:
        found, fault = is_like(value)
        return found is not negated, fault

    test = _tested(like)
    return Atom(name, PRESENT, PRESENT, test, exact=False)
