"""`Filter`, the value that the rest of Regraft sees, and `parse`, its only source."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any

from regraft.filters.compiled import Matches, compiled, in_boxes, passing
from regraft.filters.errors import BadFilter
from regraft.filters.evaluate import Evaluator, evaluator, making
from regraft.filters.functions import Outcome
from regraft.filters.known import Known
from regraft.filters.normal import Conjunction
from regraft.filters.normalise import normal_form, normalising
from regraft.filters.parser import MAX_LENGTH, reading
from regraft.filters.steps import Steps, finish
from regraft.filters.syntax import Node, attributes_of, naming, writing
from regraft.filters.values import Value

LONGEST_COMPILED = 160
"""Characters of a filter that is worth Python code of its own, which takes up to a millisecond to make"""
HOT = 256
"""and is made when the filter has been asked so often."""


@dataclass(frozen=True, eq=False)
class Filter:
    """A predicate on the attributes of events. Immutable; equal if the canonical text is equal."""

    text: str
    node: Node = field(repr=False)

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Filter) and self.text == other.text)

    def __hash__(self) -> int:
        return hash(self.text)

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        return parse, (self.text,)

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The attributes that the expression refers to."""
        return attributes_of(self.node)

    @cached_property
    def matches(self) -> Matches:
        """`filter.matches(attributes)`: the expression is true and no error arose (CESQL §1.2).

        A function made on first use, so that a call costs no more than what it tests. Attributes are
        strings, numbers or booleans; None and NaN count as missing.
        """
        if len(self.text) > LONGEST_COMPILED:
            return in_boxes(self.normal) if self.exact else passing(self._evaluator)
        asked, passes = count(1), passing(self._evaluator)

        def matches(attributes: Mapping[str, Value]) -> bool:
            if next(asked) == HOT:
                self.__dict__["matches"] = compiled(self.node)
            return passes(attributes)

        return matches

    @cached_property
    def _evaluator(self) -> Evaluator:
        return evaluator(self.node)

    def evaluate(self, attributes: Mapping[str, Value]) -> Outcome:
        """The value of the expression and its first error, if any."""
        return self._evaluator(attributes)

    @cached_property
    def normal(self) -> tuple[Conjunction, ...]:
        """The filter as a disjunction of conjunctions; empty if nothing can match."""
        return normal_form(self.node)

    @cached_property
    def exact(self) -> bool:
        """Whether the boxes of the normal form say everything, without a residue."""
        return all(conjunction.exact for conjunction in self.normal)


def parse(text: str) -> Filter:
    """The filter that a CESQL expression stands for; `BadFilter` names the position and the rule."""
    if not isinstance(text, str):
        raise BadFilter(1, f"an expression is a string, not {type(text).__name__}")
    return _known.get(text) or finish(_parsing(text))


def preparing(text: str) -> Steps[Filter]:
    """The same, and what routing needs of the filter, step by step; as long as the result is kept, nothing
    of it has to be done again."""
    filter = _known.get(text)
    if filter is None:
        filter = yield from _parsing(text)
    done = filter.__dict__
    if "normal" not in done:
        done["normal"] = yield from normalising(filter.node)
    if "attributes" not in done:
        done["attributes"] = yield from naming(filter.node)
    if "_evaluator" not in done and not filter.exact:
        done["_evaluator"] = yield from making(filter.node)
    return filter


def _parsing(text: str) -> Steps[Filter]:
    try:
        node = yield from reading(text)
        canonical = yield from writing(node)
        if len(canonical) > MAX_LENGTH:
            # The canonical text adds spaces, and it must be a filter itself.
            raise BadFilter(len(text), f"longer than {MAX_LENGTH} characters, written out")
    except BadFilter as fault:
        if len(text) <= MAX_LENGTH:
            _known.keep(text, fault)
        raise
    found = Filter(canonical, node)
    _known.keep(text, found)
    return found


_known: Known[Filter] = Known()
