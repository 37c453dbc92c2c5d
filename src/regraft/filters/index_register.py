"""Where each key of a `MatchingIndex` is filed, so that it can be removed again.

Most keys have one spot, which is kept in a table by key, eight bytes each. Keys with several have a list.
"""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np

from regraft.filters.index_group import Group, Ints
from regraft.filters.index_places import Shape
from regraft.model import BadInput

ABSENT, NONE_YET, SPREAD = -1, -2, -3
"""In the table instead of a spot: not a key; a key without a spot; a key with several."""

LARGEST = 2**31 - 1


class Spot(NamedTuple):
    """A group by its number, and the position of a box in it."""

    group: int
    position: int


class Register:
    def __init__(self) -> None:
        self._table: Ints = np.full(16, ABSENT, np.int64)
        self._lists: dict[int, list[Spot]] = {}
        self._groups: list[Group | None] = []
        self._free: list[int] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: int) -> bool:
        return 0 <= key < len(self._table) and self._table.item(key) != ABSENT

    @property
    def spread(self) -> bool:
        """Whether some key has more than one spot, so that it may be found twice."""
        return bool(self._lists)

    def claim(self, key: int) -> None:
        if 0 <= key < len(self._table) and self._table.item(key) == ABSENT:
            self._table[key] = NONE_YET
            self._count += 1
        else:
            self.claim_all((key,))

    def claim_all(self, keys: Iterable[int]) -> None:
        """Take the keys; if one is taken already or is no valid key, none is taken."""
        wanted = np.fromiter(keys, np.int64)
        if not len(wanted):
            return
        if wanted.min() < 0 or wanted.max() > LARGEST:
            raise BadInput("key", f"keys are integers from 0 to {LARGEST}")
        if wanted.max() >= len(self._table):
            more = np.full(max(int(wanted.max()) + 1, 2 * len(self._table)), ABSENT, np.int64)
            more[: len(self._table)] = self._table
            self._table = more
        wanted.sort()
        if (wanted[1:] == wanted[:-1]).any():
            raise BadInput("key", "a key is given twice")
        taken = wanted[self._table[wanted] != ABSENT]
        if len(taken):
            raise BadInput("key", f"{taken[0]} is in the index already")
        self._table[wanted] = NONE_YET
        self._count += len(wanted)

    def set(self, key: int, spots: list[Spot]) -> None:
        if len(spots) == 1:
            self._table[key] = spots[0].group << 32 | spots[0].position
        elif spots:
            self._table[key] = SPREAD
            self._lists[key] = spots

    def set_many(self, keys: Ints, group: int, positions: Ints) -> None:
        """The only spot of each of these keys, all in one group."""
        self._table[keys] = (group << 32) | positions

    def move(self, key: int, old: Spot, new: Spot) -> None:
        self.set(key, [new if spot == old else spot for spot in self._spots(key)])

    def release(self, key: int) -> list[Spot]:
        """Forget the key and return its spots, the last position first: a group that removes a box moves its
        last one, so none of the spots that are still to be removed may move."""
        if key not in self:
            raise BadInput("key", f"{key} is not in the index")
        spots = self._spots(key)
        self._lists.pop(key, None)
        self._table[key] = ABSENT
        self._count -= 1
        return sorted(spots, reverse=True)

    def group(self, number: int) -> Group:
        group = self._groups[number]
        assert group is not None
        return group

    def new_group(self, shape: Shape, values: tuple[Hashable, ...]) -> Group:
        number = self._free.pop() if self._free else len(self._groups)
        group = Group(number, shape, values)
        if number < len(self._groups):
            self._groups[number] = group
        else:
            self._groups.append(group)
        return group

    def drop_group(self, group: Group) -> None:
        self._groups[group.number] = None
        self._free.append(group.number)

    def _spots(self, key: int) -> list[Spot]:
        packed = self._table.item(key)
        if packed >= 0:
            return [Spot(packed >> 32, packed & 0xFFFFFFFF)]
        return self._lists.get(key, [])
