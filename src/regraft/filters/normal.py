"""The normal form of a filter: a disjunction of conjunctions of constraints on one attribute each.

`Filter.normal` is a tuple of `Conjunction`; the filter matches an event exactly if one of them does. A
conjunction is a box (attribute -> `Constraint`, all must allow the event's value) and a residue: conditions
on which the box says nothing, such as `a < b` or `LIKE 'x%'`. Without residues a normal form is exact;
an index may use the boxes alone and then ask `Filter.matches` for the conjunctions with a residue.

A `Constraint` is a set of attribute values, split by the kind of value, because CESQL casts (§3.7) and
`value > 0` holds for 7, for 0.5, for true and for the string "007". Absence of the attribute is one more
possible "value". The sets are closed under and, or and not, so operations on them are exact.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from regraft.filters.intervals import (
    EVERY_INTEGER,
    EVERY_NUMBER,
    NOTHING,
    Intervals,
    complement,
    holds,
    integers_in,
    intersect,
    joined,
    meet,
    unite,
    within,
)
from regraft.filters.steps import Steps
from regraft.filters.values import Value, as_value, integer_of

NO_TEXT: frozenset[str] = frozenset()
NO_BOOLS: frozenset[bool] = frozenset()
BOTH_BOOLS: frozenset[bool] = frozenset((False, True))


class Strings(NamedTuple):
    """A set of strings: those that spell a 32-bit integer in `integers`, and all other strings if `others`;
    for the finitely many in `exceptions` the answer is the opposite.

    A finite set is (NOTHING, False, set); everything but a finite set is (EVERY_INTEGER, True, set).
    """

    integers: Intervals = NOTHING
    others: bool = False
    exceptions: frozenset[str] = NO_TEXT

    @property
    def finite(self) -> frozenset[str] | None:
        """The strings, if there are finitely many."""
        return None if self.integers or self.others else self.exceptions

    def base(self, text: str) -> bool:
        """Whether the string would be in the set if it were not for `exceptions`."""
        number = integer_of(text)
        return self.others if number is None else holds(self.integers, number)

    def has(self, text: str) -> bool:
        if not self.integers and not self.others:
            return text in self.exceptions
        if self.others and self.integers == EVERY_INTEGER:
            return text not in self.exceptions
        return self.base(text) != (text in self.exceptions)


NO_STRING = Strings()
EVERY_STRING = Strings(EVERY_INTEGER, True)


def both_strings(a: Strings, b: Strings) -> Strings:
    if a is b or b == EVERY_STRING:
        return a
    if a == EVERY_STRING:
        return b
    if a[:2] == b[:2] == EVERY_STRING[:2]:
        return EVERY_STRING._replace(exceptions=a.exceptions | b.exceptions)
    if a.finite is not None or b.finite is not None:
        few, others = (a, b) if a.finite is not None else (b, a)
        return Strings(exceptions=frozenset(filter(others.has, few.exceptions)))
    base = Strings(intersect(a.integers, b.integers), a.others and b.others)
    texts = a.exceptions | b.exceptions
    return base._replace(exceptions=frozenset(s for s in texts if (a.has(s) and b.has(s)) != base.base(s)))


def not_strings(a: Strings) -> Strings:
    return Strings(complement(a.integers, EVERY_INTEGER), not a.others, a.exceptions)


def either_strings(a: Strings, b: Strings) -> Strings:
    if a.finite is not None and b.finite is not None:
        return Strings(exceptions=a.exceptions | b.exceptions)
    if not a.exceptions and not b.exceptions:
        return Strings(unite(a.integers, b.integers), a.others or b.others)
    return not_strings(both_strings(not_strings(a), not_strings(b)))


def strings_within(b: Strings, a: Strings) -> bool:
    """Whether every string of b is in a. Comparing the bases is exact although there are exceptions: each
    integer has infinitely many spellings, so finitely many exceptions never remove all strings of a base."""
    if b.others and not a.others:
        return False
    if b.integers and not within(b.integers, a.integers):
        return False
    if not b.exceptions and not a.exceptions:
        return True
    return all(a.has(s) for s in a.exceptions | b.exceptions if b.has(s))


def strings_meet(a: Strings, b: Strings) -> bool:
    """Whether some string is in both."""
    if (a.others and b.others) or meet(a.integers, b.integers):
        return True
    return any(a.has(s) and b.has(s) for s in a.exceptions | b.exceptions)


class Constraint(NamedTuple):
    """The values that an attribute may have. `missing`: the event need not have the attribute at all."""

    numbers: Intervals = NOTHING
    strings: Strings = NO_STRING
    bools: frozenset[bool] = NO_BOOLS
    missing: bool = False

    def allows(self, value: object) -> bool:
        """`value` is the event's value of the attribute, None if the event does not have it."""
        seen = as_value(value)
        if seen is None:
            return self.missing
        if isinstance(seen, str):
            return self.strings.has(seen)
        if isinstance(seen, bool):
            return seen in self.bools
        return holds(self.numbers, seen)

    def and_(self, other: "Constraint") -> "Constraint":
        return Constraint(
            intersect(self.numbers, other.numbers),
            both_strings(self.strings, other.strings),
            self.bools & other.bools,
            self.missing and other.missing,
        )

    def or_(self, other: "Constraint") -> "Constraint":
        return Constraint(
            unite(self.numbers, other.numbers),
            either_strings(self.strings, other.strings),
            self.bools | other.bools,
            self.missing or other.missing,
        )

    def not_(self) -> "Constraint":
        return Constraint(
            complement(self.numbers), not_strings(self.strings), BOTH_BOOLS - self.bools, not self.missing
        )

    def within(self, other: "Constraint") -> bool:
        """Whether every value allowed here is allowed there."""
        return (
            (other.missing or not self.missing)
            and within(self.numbers, other.numbers)
            and self.bools <= other.bools
            and strings_within(self.strings, other.strings)
        )

    def meets(self, other: "Constraint") -> bool:
        """Whether some value is allowed by both."""
        return (
            (self.missing and other.missing)
            or meet(self.numbers, other.numbers)
            or not self.bools.isdisjoint(other.bools)
            or strings_meet(self.strings, other.strings)
        )


NEVER = Constraint()
PRESENT = Constraint(EVERY_NUMBER, EVERY_STRING, BOTH_BOOLS, False)
ABSENT = Constraint(missing=True)
ANYTHING = Constraint(EVERY_NUMBER, EVERY_STRING, BOTH_BOOLS, True)


def union_in_steps(constraints: Sequence[Constraint]) -> Steps[Constraint]:
    """What any of them allows, step by step; for many constraints this is quicker than repeated `or_`."""
    strings = [each.strings for each in constraints]
    if all(each.finite is not None for each in strings):
        texts = Strings(exceptions=NO_TEXT.union(*(each.exceptions for each in strings)))
    elif not any(each.exceptions for each in strings):
        integers = joined(i for each in strings for i in each.integers)
        texts = Strings(integers, any(each.others for each in strings))
    else:
        texts = NO_STRING
        for each in strings:
            texts = either_strings(texts, each)
            yield
    yield
    numbers = joined(i for each in constraints for i in each.numbers)
    yield
    bools = NO_BOOLS.union(*(each.bools for each in constraints))
    return Constraint(numbers, texts, bools, any(each.missing for each in constraints))


def numbers_and_their_spellings(numbers: Intervals) -> Constraint:
    """Every value that casts to one of these numbers."""
    return Constraint(
        numbers,
        Strings(integers_in(numbers)),
        frozenset(b for b in (False, True) if holds(numbers, int(b))),
    )


class Condition(NamedTuple):
    """A part of the filter that no box describes: its text, and whether it must be true or false.

    Evaluating it to an error is neither; two equal texts always have equal outcomes on one event.
    """

    text: str
    outcome: bool


@dataclass(frozen=True)
class Conjunction:
    """All constraints and all conditions of the residue hold. An attribute without one may be anything.

    `box` is sorted by attribute and holds no constraint that is `ANYTHING` or `NEVER`.
    """

    box: tuple[tuple[str, Constraint], ...] = ()
    residue: frozenset[Condition] = frozenset()

    @cached_property
    def constraints(self) -> Mapping[str, Constraint]:
        return dict(self.box)

    @property
    def exact(self) -> bool:
        """Whether the box alone says everything."""
        return not self.residue

    def allows(self, attributes: Mapping[str, Value]) -> bool:
        """Whether the box allows the event; the residue is not looked at."""
        return all(constraint.allows(attributes.get(name)) for name, constraint in self.box)


EVERYTHING: tuple[Conjunction, ...] = (Conjunction(),)
