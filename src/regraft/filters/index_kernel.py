"""Compiled parts of `index_slabs`: setting the bits of boxes, and finding the boxes that hold a point.

Columns of `bits` are boxes, 64 to a word. Rows go up one attribute's range: odd rows are the slabs between
edges, even rows the edges themselves, with one row before everything and one behind. A box has a bit in
each row that its interval touches, in the first if it has no lower end, in the last if it has no upper
end. `tops` says of 64 words at a time which are not zero (or were not before a box was removed).
"""

import numpy as np
import numpy.typing as npt
from numba import njit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

ONE = np.uint64(1)
ZERO = np.uint64(0)
TOP_SIX = np.uint64(58)
LOW_SIX = np.uint64(63)
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)


def _places_of_bits() -> npt.NDArray[np.int64]:
    """The place of the only set bit of a word, by the top six bits of the word's product with `DE_BRUIJN`."""
    places = np.zeros(64, np.int64)
    for place in range(64):
        places[((0x03F79D71B4CB0A89 << place) & (2**64 - 1)) >> 58] = place
    return places


PLACE = _places_of_bits()


@njit(cache=True, nogil=True)
def row_of(edges: Floats, a: int, value: float) -> int:
    place: int = np.searchsorted(edges[a], value)  # type: ignore[assignment]
    on_edge = place < edges.shape[1] and edges[a, place] == value
    return 2 * place + 2 if on_edge else 2 * place + 1


@njit(cache=True, nogil=True)
def rows_of(edges: Floats, bounds: Floats, box: int, a: int) -> tuple[int, int]:
    """The first and the last row of a box; no row if it is empty."""
    low, high = bounds[box, 2 * a], bounds[box, 2 * a + 1]
    if not low <= high:
        return 1, 0
    first = 0 if low == -np.inf else row_of(edges, a, low)
    return first, 2 * edges.shape[1] + 2 if high == np.inf else row_of(edges, a, high)


@njit(cache=True, nogil=True)
def fill(edges: Floats, bits: Words, tops: Words, bounds: Floats, used: int, first_word: int) -> None:
    """Compute the words of the boxes anew, from `first_word` up to the box before `used`."""
    rows = bits.shape[1]
    column = np.empty(rows + 1, np.uint64)
    for word in range(first_word, (used + 63) >> 6):
        for a in range(edges.shape[0]):
            column[:] = ZERO
            # A box switches its bit on at its first row and off behind its last one.
            for box in range(word << 6, min((word << 6) + 64, used)):
                bit = ONE << (np.uint64(box) & LOW_SIX)
                first, last = rows_of(edges, bounds, box, a)
                column[first] ^= bit
                column[last + 1] ^= bit
            now = ZERO
            for row in range(rows):
                now ^= column[row]
                bits[a, row, word] = now
                if now != ZERO:
                    tops[a, row, word >> 6] |= ONE << (np.uint64(word) & LOW_SIX)


@njit(cache=True, nogil=True)
def put(edges: Floats, bits: Words, tops: Words, bounds: Floats, box: int, on: bool) -> None:
    """Set or clear the bits of one box."""
    word, bit = box >> 6, ONE << (np.uint64(box) & LOW_SIX)
    for a in range(edges.shape[0]):
        first, last = rows_of(edges, bounds, box, a)
        for row in range(first, last + 1):
            if on:
                bits[a, row, word] |= bit
                tops[a, row, word >> 6] |= ONE << (np.uint64(word) & LOW_SIX)
            else:
                bits[a, row, word] &= ~bit


@njit(cache=True, nogil=True)
def stab(
    edges: Floats, bits: Words, tops: Words, bounds: Floats, keys: Keys, point: Floats, used: int, found: Keys
) -> int:
    """Write the keys of the boxes that hold the point to the front of `found`; returns how many.

    A box that touches the point's row may hold it; one that also touches both rows beside it surely does, so
    only boxes that end in this slab are compared. Those wait at the back of `found`, to be compared all
    together without branches: a branch predicted wrongly after a cache miss would cost more than all the
    rest.
    """
    dimensions = edges.shape[0]
    rows = np.empty(dimensions, np.int64)
    for a in range(dimensions):
        rows[a] = row_of(edges, a, point[a])
    count, back = 0, found.shape[0]
    for top in range((used + 4095) >> 12):
        words = tops[0, rows[0], top]
        for a in range(1, dimensions):
            words &= tops[a, rows[a], top]
        while words != ZERO:
            bit = words & (~words + ONE)
            words ^= bit
            word = (top << 6) + PLACE[(bit * DE_BRUIJN) >> TOP_SIX]
            possible = bits[0, rows[0], word]
            for a in range(1, dimensions):
                possible &= bits[a, rows[a], word]
            if possible == ZERO:
                continue
            sure = _sure(bits, rows, word, possible)
            possible ^= sure
            while sure != ZERO:
                bit = sure & (~sure + ONE)
                sure ^= bit
                found[count] = keys[(word << 6) + PLACE[(bit * DE_BRUIJN) >> TOP_SIX]]
                count += 1
            while possible != ZERO:
                bit = possible & (~possible + ONE)
                possible ^= bit
                back -= 1
                found[back] = (word << 6) + PLACE[(bit * DE_BRUIJN) >> TOP_SIX]
    return _compared(bounds, keys, point, found, count, back)


@njit(cache=True, nogil=True)
def _sure(bits: Words, rows: Ints, word: int, possible: np.uint64) -> np.uint64:
    """Which of the possible boxes need no comparison. If there are only one or two, comparing is faster."""
    rest = possible & (possible - ONE)
    if rest & (rest - ONE) == ZERO:
        return ZERO
    sure = possible
    for a in range(rows.shape[0]):
        sure &= bits[a, rows[a] - 1, word] & bits[a, rows[a] + 1, word]
    return sure


@njit(cache=True, nogil=True)
def _compared(bounds: Floats, keys: Keys, point: Floats, found: Keys, count: int, back: int) -> int:
    """Add the boxes from `back` on that hold the point. The front never passes the place that is read."""
    for place in range(back, found.shape[0]):
        box = found[place]
        holds = 1
        for a in range(point.shape[0]):
            holds &= (bounds[box, 2 * a] <= point[a]) & (point[a] <= bounds[box, 2 * a + 1])
        found[count] = keys[box]
        count += holds
    return count
