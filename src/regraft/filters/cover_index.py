"""Which of many filters cover a filter, or are covered by it, without comparing it with all of them.

Covering-based forwarding asks this for every subscription (IPITT §III-A). Equal filters are kept once.
A filter that is a single box is filed by its shape and its exact values (`index_places`); its ranges are
kept twice, as boxes of two sides for each attribute, so that one lookup in `index_group` answers which
ranges hold [low, high], and another which lie within it. Filters of another form are compared one by one.
Every candidate must pass `covers` or `overlaps` to become an answer.
"""

from collections.abc import Hashable, Iterator

from regraft.filters.cover_probe import Hull, contained_span, containing_span, hull, pinned, sample
from regraft.filters.expression import Filter
from regraft.filters.index_group import Group
from regraft.filters.index_places import FALSE, TRUE, Shape, places
from regraft.filters.intervals import point
from regraft.filters.normal import Constraint, numbers_and_their_spellings
from regraft.filters.relations import covers, overlaps
from regraft.model import BadInput

INFINITE = float("inf")


class _Member:
    """One filter and the keys under which it was added."""

    __slots__ = ("cell", "filter", "keys")

    def __init__(self, filter: Filter) -> None:
        self.filter = filter
        self.keys: dict[int, None] = {}
        self.cell: _Cell | None = None


class _Cell:
    """Members of one shape with the same exact and cast values.

    `around` finds the ranges that hold a given one, `within` those inside it. Both see the same changes
    in the same order, so that a member has one position in both.
    """

    __slots__ = ("around", "key", "positions", "shape", "within")

    def __init__(self, shape: Shape, key: tuple[Hashable, ...]) -> None:
        self.shape, self.key = shape, key
        self.around, self.within = Group(0, shape, key), Group(0, shape, key)
        self.positions: dict[int, int] = {}

    def add(self, number: int, bounds: tuple[float, ...]) -> None:
        spans = list(zip(bounds[::2], bounds[1::2], strict=True))
        # low <= a and b <= high, where [a, b] is asked for: a and b lie in [low, high].
        self.positions[number] = self.around.add(number, tuple(end for span in spans for end in span * 2))
        # a <= low and high <= b: a lies in [-inf, low] and b in [high, inf].
        inverse = (end for low, high in spans for end in (-INFINITE, low, high, INFINITE))
        self.within.add(number, tuple(inverse))

    def remove(self, number: int) -> None:
        position = self.positions.pop(number)
        moved = self.around.remove(position)
        self.within.remove(position)
        if moved is not None:
            self.positions[moved] = position


class CoverIndex:
    """Filters by keys of the caller's choice; several keys may have the same filter."""

    def __init__(self) -> None:
        self._numbers: dict[Filter, int] = {}
        self._members: dict[int, _Member] = {}
        self._others: dict[int, _Member] = {}
        self._cells: dict[Shape, dict[tuple[Hashable, ...], _Cell]] = {}
        self._filters: dict[int, Filter] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._filters)

    def __contains__(self, key: int) -> bool:
        return key in self._filters

    def add(self, key: int, filter: Filter) -> None:
        if key in self._filters:
            raise BadInput("key", f"{key} is in the index already")
        self._filters[key] = filter
        number = self._numbers.get(filter)
        if number is None:
            number = self._numbers[filter] = self._next
            self._next += 1
            self._members[number] = self._file(number, filter)
        self._members[number].keys[key] = None

    def remove(self, key: int) -> None:
        filter = self._filters.pop(key, None)
        if filter is None:
            raise BadInput("key", f"{key} is not in the index")
        number = self._numbers[filter]
        member = self._members[number]
        del member.keys[key]
        if member.keys:
            return
        del self._numbers[filter], self._members[number]
        cell = member.cell
        if cell is None:
            del self._others[number]
            return
        cell.remove(number)
        if not cell.positions:
            cells = self._cells[cell.shape]
            del cells[cell.key]
            if not cells:
                del self._cells[cell.shape]

    def covering(self, filter: Filter) -> int | None:
        """A key whose filter covers this one, for certain; None if there is none."""
        same = self._numbers.get(filter)
        if same is not None:
            return next(iter(self._members[same].keys))
        for member in self._around(filter):
            if covers(member.filter, filter):
                return next(iter(member.keys))
        return None

    def covered(self, filter: Filter) -> list[int]:
        """The keys whose filters this one covers, for certain; those with the same filter too."""
        found = (member for member in self._within(filter) if covers(filter, member.filter))
        return [key for member in found for key in member.keys]

    def overlapping(self, filter: Filter) -> list[int]:
        """The keys whose filters may match an event that this one matches."""
        found = (member for member in self._near(filter) if overlaps(filter, member.filter))
        return [key for member in found for key in member.keys]

    def _file(self, number: int, filter: Filter) -> _Member:
        member = _Member(filter)
        where = list(places(filter.normal))
        if len(where) != 1 or where[0].check:
            self._others[number] = member
            return member
        shape, key, bounds, _ = where[0]
        cells = self._cells.setdefault(shape, {})
        cell = cells.get(key)
        if cell is None:
            cell = cells[key] = _Cell(shape, key)
        cell.add(number, bounds)
        member.cell = cell
        return member

    def _around(self, filter: Filter) -> Iterator[_Member]:
        """Everything that could cover the filter: single boxes must hold its hull."""
        if not filter.normal:
            yield from self._members.values()
            return
        box = hull(filter.normal)
        for shape, cells in self._cells.items():
            exact, cast, ranged = shape
            if not all(name in box for names in shape for name in names):
                continue
            key = (*(pinned(box[name], "exact") for name in exact), *(sample(box[name]) for name in cast))
            cell = cells.get(key)
            spans = [contained_span(box[name]) for name in ranged]
            if cell is not None and None not in spans:
                point = [end for span in spans if span is not None for end in span]
                yield from map(self._members.__getitem__, cell.around.match(point))
        yield from self._others.values()

    def _within(self, filter: Filter) -> Iterator[_Member]:
        """Everything that the filter could cover: single boxes must lie within its hull."""
        yield from self._others.values()
        if not filter.normal:
            return
        box = hull(filter.normal)
        for shape, cells in self._cells.items():
            if not box.keys() <= {name for names in shape for name in names}:
                continue
            spans = [containing_span(box.get(name)) for name in shape.ranged]
            if None in spans:
                continue
            point = [end for span in spans if span is not None for end in span]
            for cell in _allowed(shape, cells, box):
                yield from map(self._members.__getitem__, cell.within.match(point))

    def _near(self, filter: Filter) -> Iterator[_Member]:
        """Everything whose exact values the filter's hull allows."""
        yield from self._others.values()
        if filter.normal:
            box = hull(filter.normal)
            for shape, cells in self._cells.items():
                for cell in _allowed(shape, cells, box, spellings=True):
                    yield from map(self._members.__getitem__, cell.positions)


def _allowed(
    shape: Shape, cells: dict[tuple[Hashable, ...], _Cell], box: Hull, spellings: bool = False
) -> Iterator[_Cell]:
    """The cells whose exact and cast values the box allows, or (for cast ones) one of their `spellings`; one
    lookup if it names a value of each."""
    values = (
        *(pinned(box.get(name), "exact") for name in shape.exact),
        *(pinned(box.get(name), "cast") for name in shape.cast),
    )
    if None not in values:
        cell = cells.get(values)
        if cell is not None:
            yield cell
        return
    named = [(place, box[name]) for place, name in enumerate(shape.exact + shape.cast) if name in box]
    for key, cell in cells.items():
        if all(
            _meets(constraint, key[place])
            if spellings and place >= len(shape.exact)
            else constraint.allows(_value(key[place]))
            for place, constraint in named
        ):
            yield cell


def _meets(constraint: Constraint, number: Hashable) -> bool:
    """Whether the constraint allows a value that casts to the number, such as a text that spells it."""
    assert isinstance(number, int | float)
    return constraint.meets(numbers_and_their_spellings(point(number)))


def _value(token: Hashable) -> object:
    """The value that `exact_token` made this token of."""
    return True if token == TRUE else False if token == FALSE else token
