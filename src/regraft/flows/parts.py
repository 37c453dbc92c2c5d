"""Parts of the events: those of one source, or of all, whose expression begins with given digits."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Part(NamedTuple):
    """Events of one source (None: of all) whose expression begins with `dz`."""

    source: int | None
    dz: str

    def overlaps(self, other: "Part") -> bool:
        same = self.source is None or other.source is None or self.source == other.source
        return same and (self.dz.startswith(other.dz) or other.dz.startswith(self.dz))


class PartIndex(Generic[T]):
    """Values by part; finds those whose part overlaps another without looking at all of them."""

    def __init__(self, values: Iterable[tuple[Part, T]]) -> None:
        self._at: dict[str, list[tuple[Part, T]]] = {}
        for part, value in values:
            self._at.setdefault(part.dz, []).append((part, value))
        self._sorted = sorted(self._at)

    def overlapping(self, part: Part) -> Iterator[T]:
        for dz in self._related(part.dz):
            for own, value in self._at[dz]:
                if own.overlaps(part):
                    yield value

    def _related(self, dz: str) -> Iterator[str]:
        for length in range(len(dz)):
            if dz[:length] in self._at:
                yield dz[:length]
        # What begins with the same digits stands together.
        for place in range(bisect_left(self._sorted, dz), len(self._sorted)):
            if not self._sorted[place].startswith(dz):
                return
            yield self._sorted[place]
