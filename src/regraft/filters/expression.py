"""`Filter`, the value that the rest of Regraft sees, and `parse`, its only source."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from regraft.filters.compiled import Matches, compiled, in_boxes, passing
from regraft.filters.errors import BadFilter
from regraft.filters.evaluate import Evaluator, evaluator, evaluator_in_steps
from regraft.filters.functions import Outcome
from regraft.filters.normal import Conjunction
from regraft.filters.normalise import normal_form, normal_form_in_steps
from regraft.filters.parser import MAX_LENGTH, read_in_steps
from regraft.filters.steps import Steps, finish
from regraft.filters.syntax import Node, attributes_in_steps, attributes_of, text_in_steps
from regraft.filters.values import Value

LONGEST_COMPILED = 160
"""The most characters of a filter that is compiled to Python code, which takes up to a millisecond."""
HOT = 256
"""It is compiled when it has tested this many events."""
KEPT_CHARACTERS = 2**17
"""The length of all texts that the cache of filters keeps; a filter takes about 200 bytes per character."""


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

        A function that is made on first use, so that a call costs no more than the tests themselves.
        Attributes are strings, numbers or booleans; None and NaN count as missing.
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
    return _cache.get(text) or finish(_parse_in_steps(text))


def prepare_in_steps(text: str) -> Steps[Filter]:
    """`parse`, and everything else that routing needs of the filter, step by step; nothing of it is done
    again for as long as the filter is kept."""
    filter = _cache.get(text)
    if filter is None:
        filter = yield from _parse_in_steps(text)
    done = filter.__dict__  # where `cached_property` keeps its results
    if "normal" not in done:
        done["normal"] = yield from normal_form_in_steps(filter.node)
    if "attributes" not in done:
        done["attributes"] = yield from attributes_in_steps(filter.node)
    if "_evaluator" not in done and not filter.exact:
        done["_evaluator"] = yield from evaluator_in_steps(filter.node)
    return filter


def _parse_in_steps(text: str) -> Steps[Filter]:
    try:
        node = yield from read_in_steps(text)
        canonical = yield from text_in_steps(node)
        if len(canonical) > MAX_LENGTH:
            # The canonical text adds spaces, and it must be a filter itself.
            raise BadFilter(len(text), f"longer than {MAX_LENGTH} characters, written out")
    except BadFilter as fault:
        if len(text) <= MAX_LENGTH:
            _cache.keep(text, fault)
        raise
    found = Filter(canonical, node)
    _cache.keep(text, found)
    return found


class FilterCache:
    """Text -> its filter, or the fault that it has.

    The same text gives the same object while anybody holds it. The latest filters and faults are kept beyond
    that, so that parsing them again costs nothing; the length of their texts is bounded.
    """

    def __init__(self, characters: int = KEPT_CHARACTERS) -> None:
        self._alive: WeakValueDictionary[str, Filter] = WeakValueDictionary()
        self._kept: OrderedDict[str, Filter | BadFilter] = OrderedDict()
        self._characters = 0
        self._most = characters

    def get(self, text: str) -> Filter | None:
        """The filter, if it is in the cache; its fault is raised again, if it has one."""
        found = self._kept.get(text)
        if found is None:
            return self._alive.get(text)
        if isinstance(found, BadFilter):
            raise BadFilter(found.position, found.rule)
        return found

    def keep(self, text: str, found: Filter | BadFilter) -> None:
        if not isinstance(found, BadFilter):
            self._alive[text] = found
        if text not in self._kept:
            self._characters += len(text)
        self._kept[text] = found
        while self._characters > self._most and len(self._kept) > 1:
            self._characters -= len(self._kept.popitem(last=False)[0])


_cache = FilterCache()
