"""Which of many subscriptions match an event, without asking all of them.

A filter is filed under the boxes of its normal form (`index_places`). An event looks up one group for
each shape that occurs, by the values of its exact attributes, and there finds the boxes that hold its
numbers (`index_group`, `index_slabs`). Only filters that the normal form does not describe fully are
evaluated, and only those whose boxes hold the event. Answers are exact; changes are visible at once.

With 10^6 subscriptions on the workload of IPITT §VI-A an event costs microseconds (`scripts/bench matching`);
the same class serves a broker with three subscriptions.
"""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from regraft.filters.expression import Filter, parse
from regraft.filters.index_group import Group, Ints
from regraft.filters.index_places import EXACT_UP_TO, Shape, cast_number, exact_token, places, ranged_number
from regraft.filters.index_register import Register, Spot
from regraft.filters.values import Value
from regraft.model import BadInput

Attributes = Mapping[str, Value]


class _GroupsOfShape:
    """The groups of one shape, by the values of its exact and cast attributes."""

    __slots__ = ("groups", "shape")

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.groups: dict[tuple[Hashable, ...], Group] = {}

    def find(self, attributes: Attributes) -> tuple[Group, list[float]] | None:
        """The only group where the event may match, and its point there."""
        exact, cast, ranged = self.shape
        key: list[Hashable] = [exact_token(attributes.get(name)) for name in exact]
        if cast:
            key += [cast_number(attributes.get(name)) for name in cast]
        group = self.groups.get(tuple(key))
        if group is None:
            return None
        point = []
        for name in ranged:
            number = ranged_number(attributes.get(name))
            if number is None:
                return None
            point.append(number)
        return group, point


class MatchingIndex:
    """Filters by keys: integers from 0, best without gaps, as a table as long as the largest key is kept."""

    def __init__(self) -> None:
        self._shapes: dict[Shape, _GroupsOfShape] = {}
        self._register = Register()
        self._checked: dict[int, Filter] = {}
        self._attributes: frozenset[str] | None = None

    def __len__(self) -> int:
        return len(self._register)

    def __contains__(self, key: int) -> bool:
        return key in self._register

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes that answers depend on: equal values of these give equal answers."""
        if self._attributes is None:
            shapes = (name for shape in self._shapes for names in shape for name in names)
            checked = (name for filter in self._checked.values() for name in filter.attributes)
            self._attributes = frozenset((*shapes, *checked))
        return self._attributes

    def add(self, key: int, filter: Filter) -> None:
        self._register.claim(key)
        spots: list[Spot] = []
        for shape, values, bounds, check in places(filter.normal):
            if check:
                self._check(key, filter)
            group = self._group(shape, values)
            spots.append(Spot(group.number, group.add(~key if check else key, bounds)))
        self._register.set(key, spots)

    def add_boxes(
        self,
        keys: npt.ArrayLike,
        equal: Mapping[str, Sequence[str]],
        ranges: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]],
    ) -> None:
        """Columns instead of filters: key i asks for the text equal[a][i] and low[i] <= r AND r <= high[i].

        The ends of ranges are infinite or within ±2^53; an empty range never matches.
        """
        numbers = np.asarray(keys, np.int64)
        shape = Shape(tuple(sorted(equal)), (), tuple(sorted(ranges)))
        ends = [np.asarray(side, np.float64) for name in shape.ranged for side in ranges[name]]
        if any(len(column) != len(numbers) for column in (*ends, *equal.values())):
            raise BadInput("columns", "all columns must be as long as the keys")
        bounds = np.stack(ends, axis=1) if ends else np.empty((len(numbers), 0))
        if not (np.isinf(bounds) | (abs(bounds) < EXACT_UP_TO)).all():
            raise BadInput("columns", "the ends of ranges are infinite or within ±2^53")
        self._register.claim_all(numbers.tolist())
        columns = [equal[name] for name in shape.exact]
        texts = list(zip(*columns, strict=True)) if columns else [()] * len(numbers)
        number = {values: place for place, values in enumerate(dict.fromkeys(texts))}
        codes = np.fromiter(map(number.__getitem__, texts), np.int64, len(texts))
        rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes)))
        for values, those in zip(number, rows, strict=False):
            group = self._group(shape, values)
            self._register.set_many(numbers[those], group.number, group.extend(numbers[those], bounds[those]))

    def remove(self, key: int) -> None:
        for spot in self._register.release(key):
            group = self._register.group(spot.group)
            moved = group.remove(spot.position)
            if moved is not None:
                member = moved if moved >= 0 else ~moved
                self._register.move(member, Spot(spot.group, len(group)), spot)
            if not len(group):
                self._drop(group)
        if self._checked.pop(key, None) is not None:
            self._attributes = None

    def match(self, attributes: Attributes) -> list[int]:
        """The keys of the filters that match, each once, in no particular order."""
        found: list[int] = []
        for of_shape in self._shapes.values():
            hit = of_shape.find(attributes)
            if hit is not None:
                more = hit[0].match(hit[1])
                found = found + more if found else more
        if found and (self._checked or self._register.spread):
            return self._settled(found, attributes)
        return found

    def match_array(self, attributes: Attributes) -> Ints:
        """`match` as an array, which is quicker where thousands match."""
        if self._checked or self._register.spread:
            return np.array(self.match(attributes), np.int64)
        hits = [hit for of_shape in self._shapes.values() if (hit := of_shape.find(attributes)) is not None]
        if len(hits) == 1:
            return hits[0][0].match_array(hits[0][1])
        return np.concatenate([np.empty(0, np.int64), *(group.match_array(point) for group, point in hits)])

    def _settled(self, found: list[int], attributes: Attributes) -> list[int]:
        """Each key once; ~key is a box that holds the event and whose filter has yet to be evaluated."""
        sure = dict.fromkeys(key for key in found if key >= 0)
        for key in {~key for key in found if key < 0}:
            if key not in sure and self._checked[key].matches(attributes):
                sure[key] = None
        return list(sure)

    def _check(self, key: int, filter: Filter) -> None:
        self._checked[key] = filter
        self._attributes = None

    def _group(self, shape: Shape, values: tuple[Hashable, ...]) -> Group:
        of_shape = self._shapes.get(shape)
        if of_shape is None:
            of_shape = self._shapes[shape] = _GroupsOfShape(shape)
            self._attributes = None
        group = of_shape.groups.get(values)
        if group is None:
            group = of_shape.groups[values] = self._register.new_group(shape, values)
        return group

    def _drop(self, group: Group) -> None:
        of_shape = self._shapes[group.shape]
        del of_shape.groups[group.key]
        self._register.drop_group(group)
        if not of_shape.groups:
            del self._shapes[group.shape]
            self._attributes = None


def load_compiled() -> None:
    """Load the compiled code for large groups now. It takes a second, which the first group to become large
    would otherwise spend while events wait."""
    index = MatchingIndex()
    ends = np.arange(64.0)
    index.add_boxes(np.arange(64), {}, {"x": (ends, ends + 1)})
    index.add(64, parse("x >= 7 AND x <= 8"))
    index.match({"x": 7})
    index.remove(64)
