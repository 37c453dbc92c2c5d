"""`Filter`, the value that the rest of Regraft sees, and `parse`, its only source."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from regraft.filters.compiled import compiled
from regraft.filters.errors import BadFilter
from regraft.filters.evaluate import Evaluator, evaluate, evaluator
from regraft.filters.functions import Outcome
from regraft.filters.normal import Conjunction
from regraft.filters.normalise import normal_form
from regraft.filters.parser import MAX_LENGTH, read
from regraft.filters.syntax import Node, attributes_of, text_of_node
from regraft.filters.values import Value

CACHED_FILTERS = 16_384


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
    def matches(self) -> Callable[[Mapping[str, Value]], bool]:
        """`filter.matches(attributes)`: the expression is true and no error arose (CESQL §1.2).

        A function made on first use, so that a call costs no more than what it tests. Attributes are
        strings, numbers or booleans; None and NaN count as missing.
        """
        return compiled(self.node)

    @cached_property
    def _evaluator(self) -> Evaluator:
        return evaluator(self.node)

    def evaluate(self, attributes: Mapping[str, Value]) -> Outcome:
        """The value of the expression and its first error, if any."""
        return evaluate(self._evaluator, attributes)

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
        raise BadFilter("filter", f"an expression is a string, not {type(text).__name__}")
    return _parsed(text)


@lru_cache(CACHED_FILTERS)
def _parsed(text: str) -> Filter:
    node = read(text)
    canonical = text_of_node(node)
    if len(canonical) > MAX_LENGTH:
        # The canonical text adds spaces, and it must be a filter itself.
        raise BadFilter(f"position {len(text)}", f"longer than {MAX_LENGTH} characters, written out")
    return Filter(canonical, node)
