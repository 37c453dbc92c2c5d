"""The boxes of one shape with the same values of the exact and cast attributes.

Few boxes are kept in a list that Python walks: a compiled call costs as much as thirty comparisons. Many are
kept in `Slabs`, whose compiled code is loaded only then, so a broker with a handful of subscriptions never
loads it.
"""

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from regraft.filters.index_places import Shape

if TYPE_CHECKING:
    from regraft.filters.index_slabs import Slabs

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FEW = 32


class Group:
    """Positions number the boxes; `members` are the keys by position until there are `slabs`."""

    __slots__ = ("bounds", "key", "members", "number", "shape", "slabs")

    def __init__(self, number: int, shape: Shape, key: tuple[Hashable, ...]) -> None:
        self.number = number
        self.shape = shape
        self.key = key
        self.members: list[int] = []
        self.bounds: list[tuple[float, ...]] = []
        self.slabs: Slabs | None = None

    def __len__(self) -> int:
        return len(self.members) if self.slabs is None else len(self.slabs)

    def add(self, member: int, bounds: tuple[float, ...]) -> int:
        """The position of the new box."""
        if self.slabs is not None:
            return self.slabs.add(member, bounds)
        self.members.append(member)
        self.bounds.append(bounds)
        position = len(self.members) - 1
        if bounds and len(self.members) > FEW:
            self._to_slabs(len(bounds) // 2)
        return position

    def extend(self, members: Ints, bounds: Floats) -> Ints:
        """The positions of many new boxes."""
        if self.slabs is not None:
            return self.slabs.extend(members, bounds)
        first = len(self.members)
        if bounds.shape[1] and first + len(members) > FEW:
            return self._to_slabs(bounds.shape[1] // 2).extend(members, bounds)
        self.members += members.tolist()
        self.bounds += map(tuple, bounds.tolist())
        return np.arange(first, len(self.members))

    def remove(self, position: int) -> int | None:
        """Remove a box. In a list, the last box takes its position: then that box's member is returned."""
        if self.slabs is not None:
            self.slabs.remove(position)
            return None
        last, ends = self.members.pop(), self.bounds.pop()
        if position == len(self.members):
            return None
        self.members[position], self.bounds[position] = last, ends
        return last

    def match(self, point: list[float]) -> list[int]:
        """The members whose boxes hold the point: all of them, if there are no ranged attributes."""
        size = len(point)
        if size == 0:
            return self.members.copy()
        if self.slabs is not None:
            found: list[int] = self.slabs.match(point).tolist()
            return found
        pairs = zip(self.members, self.bounds, strict=True)
        if size == 1:
            x = point[0]
            return [member for member, (low, high) in pairs if low <= x <= high]
        if size == 2:
            x, y = point
            return [member for member, (a, b, c, d) in pairs if a <= x <= b and c <= y <= d]
        return [member for member, bounds in pairs if _holds(bounds, point)]

    def match_array(self, point: list[float]) -> Ints:
        """`match` as an array: to make thousands of Python integers costs more than to find them."""
        if self.slabs is None:
            return np.array(self.match(point), np.int64)
        return self.slabs.match(point).astype(np.int64)

    def _to_slabs(self, dimensions: int) -> "Slabs":
        from regraft.filters.index_slabs import Slabs  # noqa: PLC0415 - loads the compiler

        self.slabs = Slabs(dimensions)
        if self.members:
            self.slabs.extend(np.array(self.members, np.int64), np.array(self.bounds), in_order=True)
        self.members, self.bounds = [], []
        return self.slabs


def _holds(bounds: tuple[float, ...], point: list[float]) -> bool:
    return all(bounds[2 * a] <= x <= bounds[2 * a + 1] for a, x in enumerate(point))
