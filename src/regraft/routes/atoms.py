"""The least common refinement of several parts of the event space, so that sets become integers.

Every dz-expression is an interval of the space read as a binary fraction (Content routes §4.3). The ends of
all intervals cut the space into atoms that no given part divides, and a part becomes an integer in which bit
a says whether the part holds atom a. Union, intersection and containment of thousands of filters are then
single operations on integers. Positions are integers too, so nothing is rounded even at 112 digits.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from regraft.filters.dz import Dz, DzSet


@dataclass(frozen=True)
class Atoms:
    """Atom a reaches from `places[a]` to `places[a + 1]`, counted in cells of `digits` digits."""

    digits: int
    places: tuple[int, ...]

    def __len__(self) -> int:
        return max(len(self.places) - 1, 0)

    @cached_property
    def _number(self) -> dict[int, int]:
        return {place: number for number, place in enumerate(self.places)}

    def divides(self, part: DzSet) -> bool:
        """Whether the part is a union of atoms."""
        return all(end in self._number for dz in part for end in _ends(dz, self.digits))

    def mask(self, part: DzSet) -> int:
        """The atoms of a part whose ends are among the places."""
        mask = 0
        for dz in part:
            low, high = _interval(dz, self.digits)
            mask |= (1 << self._number[high]) - (1 << self._number[low])
        return mask

    def inside(self, dz: Dz) -> range:
        """The atoms within an expression whose ends are among the places."""
        low, high = _interval(dz, self.digits)
        return range(self._number[low], self._number[high])

    def part(self, mask: int) -> DzSet:
        """The union of these atoms, in the fewest expressions."""
        return DzSet(dz for low, high in self._runs(mask) for dz in _aligned(low, high, self.digits))

    def volume(self, mask: int) -> float:
        """The share of the event space that these atoms fill."""
        return sum(high - low for low, high in self._runs(mask)) / (1 << self.digits)

    def _runs(self, mask: int) -> Iterator[tuple[int, int]]:
        """The intervals that adjacent atoms of the mask form together."""
        start = 0
        while mask:
            gap = (mask & -mask).bit_length() - 1
            mask >>= gap
            length = (~mask & (mask + 1)).bit_length() - 1
            yield self.places[start + gap], self.places[start + gap + length]
            start += gap + length
            mask >>= length


def atoms_of(parts: Iterable[DzSet]) -> Atoms:
    """The coarsest cut of the space that no part crosses."""
    expressions = {dz for part in parts for dz in part}
    digits = max(map(len, expressions), default=0)
    places = {place for dz in expressions for place in _interval(dz, digits)}
    return Atoms(digits, tuple(sorted(places)))


def _ends(dz: Dz, digits: int) -> tuple[int, ...]:
    return _interval(dz, digits) if len(dz) <= digits else (-1,)


def _interval(dz: Dz, digits: int) -> tuple[int, int]:
    rest = digits - len(dz)
    first = int(dz or "0", 2)
    return first << rest, (first + 1) << rest


def _aligned(low: int, high: int, digits: int) -> Iterator[Dz]:
    """The interval as expressions: each time the largest one that begins at its low end and fits into it."""
    while low < high:
        rest = (low & -low).bit_length() - 1 if low else digits
        rest = min(rest, (high - low).bit_length() - 1)
        length = digits - rest
        yield format(low >> rest, f"0{length}b") if length else ""
        low += 1 << rest


@dataclass(frozen=True)
class EventMasks:
    """What publishers advertise and subscribers want, as integers over common atoms.

    `wants_at[r]` is what the subscribers at switch r want together.
    """

    atoms: Atoms
    advertised: tuple[int, ...]
    subscribed: tuple[int, ...]
    wants_at: tuple[int, ...]


@lru_cache(maxsize=8)
def event_masks(
    advertised: tuple[DzSet, ...],
    subscribed: tuple[DzSet, ...],
    subscriber_at: tuple[int, ...],
    vertices: int,
    also: tuple[DzSet, ...] = (),
) -> EventMasks:
    """The masks over atoms that do not divide a part of `also` either.

    The last ones are kept: the same few are asked for again and again while one problem is worked on.
    """
    atoms = atoms_of((*advertised, *subscribed, *also))
    wanted = tuple(map(atoms.mask, subscribed))
    wants_at = [0] * vertices
    for at, mask in zip(subscriber_at, wanted, strict=True):
        wants_at[at] |= mask
    return EventMasks(atoms, tuple(map(atoms.mask, advertised)), wanted, tuple(wants_at))
