"""The event space behind dz-expressions: which attributes, over which ranges (Content routes §4.3).

The digits halve the dimensions in turn: with two attributes the first, third, … digit halve the
range of the first attribute. A value outside the range counts as the nearest one inside and a missing
value as the lowest, and text that spells an integer as that, so every event has an expression and is in
the part of every filter that it matches: truncation and clamping add false positives, never false negatives.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from regraft.filters.dz import Dz
from regraft.filters.index_places import cast_number
from regraft.filters.values import Value
from regraft.model import BadInput

MAXIMUM_LENGTH = 112
"""How many digits the prefix of an IPv6 multicast block such as ff0e::/16 leaves (4.32)."""


class Span(NamedTuple):
    """A closed range of positions along one dimension, 0 and 1 being its ends."""

    low: float
    high: float


Box = tuple[Span, ...]
"""A part of the space, one span for each dimension."""

WHOLE = Span(0.0, 1.0)


@dataclass(frozen=True)
class Dimension:
    """One attribute: a range of numbers, or the values of `choices` (text or truth values) in order.

    A value that is not among the choices shares a last place after them. `histogram` gives how often
    values fall into equal bins of the range (for choices: into each choice, and last: others); without
    it they are taken as equally frequent.
    """

    attribute: str
    low: float = 0.0
    high: float = 1.0
    choices: tuple[str | bool, ...] = ()
    histogram: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.choices:
            object.__setattr__(self, "low", 0.0)
            object.__setattr__(self, "high", float(len(self.choices) + 1))
        if not 0.0 < self.high - self.low < math.inf:
            raise BadInput(
                self.attribute, f"a range goes upwards between two numbers, not {self.low:g} to {self.high:g}"
            )
        if any(not math.isfinite(count) or count < 0 for count in self.histogram):
            raise BadInput(self.attribute, "a histogram has no negative counts")
        if self.histogram and sum(self.histogram) == 0:
            raise BadInput(self.attribute, "a histogram needs at least one event")

    def position(self, value: Value | None) -> float:
        """Where a value lies, 0 to 1; never decreasing in the value, which `spans` rely on."""
        if self.choices:
            return self.place(value) / self.high
        number = cast_number(value)
        if number is None:
            return 0.0
        if self.low < number < self.high:
            return (number - self.low) / (self.high - self.low)
        return 1.0 if number >= self.high else 0.0

    def place(self, value: Value | None) -> int:
        """The number of a choice; a missing value counts as the first."""
        if value is None:
            return 0
        for number, choice in enumerate(self.choices):
            if choice == value and type(choice) is type(value):
                return number
        return len(self.choices)

    def mass(self, span: Span) -> float:
        """The share of values inside the span."""
        return self._below(span.high) - self._below(span.low)

    def _below(self, position: float) -> float:
        if not self.histogram:
            return position
        bins = len(self.histogram)
        place = min(int(position * bins), bins - 1)
        before = self._sums[place - 1] if place else 0.0
        return (before + self.histogram[place] * (position * bins - place)) / self._sums[-1]

    @cached_property
    def _sums(self) -> tuple[float, ...]:
        return tuple(accumulate(self.histogram))


@dataclass(frozen=True)
class EventSpace:
    """The chosen attributes, in the order in which the digits halve them."""

    dimensions: tuple[Dimension, ...]
    maximum: int = MAXIMUM_LENGTH

    def __post_init__(self) -> None:
        names = [dimension.attribute for dimension in self.dimensions]
        if not names or len(set(names)) < len(names):
            raise BadInput("dimensions", "an event space needs one or more different attributes")
        if self.maximum < 1:
            raise BadInput("maximum", "dz-expressions have at least one digit")

    def event(self, attributes: Mapping[str, Value], length: int | None = None) -> Dz:
        """The expression of this length (the maximum if none is given) that holds the event."""
        digits = self.maximum if length is None else self._checked(length)
        size = len(self.dimensions)
        parts = []
        for number, dimension in enumerate(self.dimensions):
            halvings = (digits - number + size - 1) // size
            cell = cell_of(dimension.position(attributes.get(dimension.attribute)), halvings)
            parts.append(format(cell, f"0{halvings}b") if halvings else "")
        woven = [""] * digits
        for number, part in enumerate(parts):
            woven[number::size] = part
        return "".join(woven)

    def box(self, dz: Dz) -> Box:
        """The part of the space that an expression names."""
        size = len(self.dimensions)
        spans = []
        for number in range(size):
            digits = dz[number::size]
            cell, cells = int(digits or "0", 2), 1 << len(digits)
            spans.append(Span(cell / cells, (cell + 1) / cells))
        return tuple(spans)

    def mass(self, box: Sequence[Span]) -> float:
        """The share of events inside a box, the attributes being independent of each other."""
        return math.prod(dimension.mass(span) for dimension, span in zip(self.dimensions, box, strict=True))

    def _checked(self, length: int) -> int:
        if not 1 <= length <= self.maximum:
            raise BadInput("length", f"a dz-expression has 1 to {self.maximum} digits, not {length}")
        return length


def cell_of(position: float, halvings: int) -> int:
    """Which of 2^halvings equal cells holds a position; 1.0 belongs to the last."""
    return min(int(math.ldexp(position, halvings)), (1 << halvings) - 1)
