"""Many boxes over the same attributes: which of them hold a point, a word of 64 boxes at a time.

Each attribute's range is cut into slabs with about equally many box ends; bitmaps say which boxes touch a
slab and which hold its edges. A point picks one slab of each attribute, and the boxes that may hold it are
the common bits. Memory is slabs/4 + 16 bytes for each box and attribute. Boxes are added and removed in place
and keep their position; slabs are cut anew whenever more room is needed. Boxes that are added together are
put near their neighbours in space, so that narrow boxes share words and most words need not be looked at.
"""

import numpy as np

from regraft.filters.index_kernel import Floats, Ints, Keys, Words, fill, put, stab

SLABS = 256
"""The most slabs of an attribute. With more, fewer boxes are compared one by one, but bitmaps are larger."""

BOXES_PER_SLAB = 16
SAMPLE = 20_000
"""How many boxes are sampled, at most, to decide where slabs are cut."""

NO_BOX = (np.inf, -np.inf)


class Slabs:
    __slots__ = ("_bits", "_bounds", "_edges", "_found", "_free", "_keys", "_point", "_tops", "_used")

    def __init__(self, dimensions: int) -> None:
        self._keys: Keys = np.empty(0, np.int32)
        self._bounds: Floats = np.empty((0, 2 * dimensions))
        self._edges: Floats = np.empty((dimensions, 0))
        self._bits: Words = np.empty((dimensions, 0, 0), np.uint64)
        self._tops: Words = self._bits
        self._found: Keys = self._keys
        self._point: Floats = np.empty(dimensions)
        self._free: list[int] = []
        self._used = 0

    def __len__(self) -> int:
        return self._used - len(self._free)

    def add(self, key: int, bounds: tuple[float, ...]) -> int:
        """The position of the new box: low and high end in each attribute."""
        if self._free:
            position = self._free.pop()
        else:
            if self._used == len(self._keys):
                self._resize(2 * self._used + 64)
                self._cut()
            position = self._used
            self._used += 1
        self._keys[position] = key
        self._bounds[position] = bounds
        put(self._edges, self._bits, self._tops, self._bounds, position, True)
        return position

    def extend(self, keys: Ints, bounds: Floats, in_order: bool = False) -> Ints:
        """The positions of many new boxes; with `in_order` they follow each other as given."""
        first, behind = self._used, self._used + len(keys)
        cut = behind > len(self._keys)
        if cut:
            self._resize(behind + behind // 8)
        self._keys[first:behind], self._bounds[first:behind] = keys, bounds
        self._used = behind
        if cut:
            self._place_slabs()
        positions = np.arange(first, behind)
        if not in_order:
            order = np.argsort(self._codes(bounds), kind="stable")
            self._keys[first:behind], self._bounds[first:behind] = keys[order], bounds[order]
            positions[order] = np.arange(first, behind)
        if cut:
            self._cut(placed=True)
        else:
            fill(self._edges, self._bits, self._tops, self._bounds, behind, first >> 6)
        return positions

    def remove(self, position: int) -> None:
        put(self._edges, self._bits, self._tops, self._bounds, position, False)
        self._bounds[position] = NO_BOX * len(self._point)
        self._free.append(position)

    def match(self, point: list[float]) -> Keys:
        """The keys of the boxes that hold the point; the next call overwrites them."""
        self._point[:] = point
        count = stab(
            self._edges,
            self._bits,
            self._tops,
            self._bounds,
            self._keys,
            self._point,
            self._used,
            self._found,
        )
        return self._found[:count]

    def _cut(self, placed: bool = False) -> None:
        """Make new bitmaps for all the room there is, over new slabs unless they are `placed` already."""
        if not placed:
            self._place_slabs()
        words = (len(self._keys) + 63) >> 6
        rows = 2 * self._edges.shape[1] + 3
        self._bits = np.zeros((len(self._point), rows, words), np.uint64)
        self._tops = np.zeros((len(self._point), rows, (words + 63) >> 6), np.uint64)
        fill(self._edges, self._bits, self._tops, self._bounds, self._used, 0)

    def _place_slabs(self) -> None:
        slabs = min(max(self._used // BOXES_PER_SLAB, 4), SLABS)
        self._edges = np.full((len(self._point), slabs - 1), np.inf)
        some = self._bounds[: self._used : self._used // SAMPLE + 1]
        for a in range(len(self._point)):
            ends = some[:, 2 * a : 2 * a + 2]
            ends = ends[np.isfinite(ends)]
            if len(ends):
                cuts = np.unique(np.quantile(ends, np.linspace(0, 1, slabs + 1)[1:-1], method="lower"))
                self._edges[a, : len(cuts)] = cuts

    def _codes(self, bounds: Floats) -> Ints:
        """A number for each box that is close for boxes whose ends are close: Z-order of the ends' slabs.

        Boxes that hold the same points then share words: full words and empty ones, few in between.
        """
        codes = np.zeros(len(bounds), np.int64)
        sides = min(bounds.shape[1], 16)
        finest = min(8, 62 // sides)
        for side in range(sides):
            slab = (
                np.searchsorted(self._edges[side // 2], bounds[:, side]) * 256 // (self._edges.shape[1] + 1)
            )
            for bit in range(finest):
                codes |= ((slab >> (7 - bit)) & 1) << ((finest - bit) * sides - 1 - side)
        return codes

    def _resize(self, room: int) -> None:
        keys, bounds = np.zeros(room, np.int32), np.empty((room, self._bounds.shape[1]))
        keys[: self._used], bounds[: self._used] = self._keys[: self._used], self._bounds[: self._used]
        self._keys, self._bounds, self._found = keys, bounds, np.empty(room, np.int32)
