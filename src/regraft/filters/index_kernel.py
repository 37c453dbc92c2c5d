"""Compiled parts of `index_slabs`: setting the bits of boxes, and finding the boxes that hold a point.

Rows of `bits` are slabs of one attribute's range, with one row before the first slab and one behind the
last; columns are boxes, 64 to a word. A box has a bit in each slab that its interval touches, in the row
before if it has no lower end, and in the row behind if it has no upper end. `tops` says of 64 words at a
time which of them are not zero (it may say so of a word that has become zero).
"""

import numpy as np
import numpy.typing as npt
from numba import njit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

ONE = np.uint64(1)
ZERO = np.uint64(0)
TOP_SIX = np.uint64(58)
LOW_SIX = np.uint64(63)
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)


def _places_of_bits() -> npt.NDArray[np.int64]:
    """Place of the only set bit of a word by the top six bits of its product with `DE_BRUIJN`."""
    places = np.zeros(64, np.int64)
    for place in range(64):
        places[((0x03F79D71B4CB0A89 << place) & (2**64 - 1)) >> 58] = place
    return places


PLACE = _places_of_bits()


@njit(cache=True, nogil=True)
def rows_of(edges: Floats, bounds: Floats, box: int, a: int) -> tuple[int, int]:
    """The first and the last row of a box; no row if it is empty."""
    low, high = bounds[box, 2 * a], bounds[box, 2 * a + 1]
    if not low <= high:
        return 1, 0
    first = 0 if low == -np.inf else np.searchsorted(edges[a], low, side="right") + 1
    last = np.searchsorted(edges[a], high, side="right") + 1
    return first, edges.shape[1] + 2 if high == np.inf else last


@njit(cache=True, nogil=True)
def fill(edges: Floats, bits: Words, tops: Words, bounds: Floats, used: int, first_word: int) -> None:
    """Make the words from the first one on anew, up to the box `used`."""
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
    edges: Floats, bits: Words, tops: Words, bounds: Floats, keys: Ints, point: Floats, used: int, found: Ints
) -> int:
    """Write the keys of the boxes that hold the point to `found`; returns how many."""
    dimensions = edges.shape[0]
    rows = np.empty(dimensions, np.int64)
    for a in range(dimensions):
        rows[a] = np.searchsorted(edges[a], point[a], side="right") + 1
    count = 0
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
            if possible != ZERO:
                count = _collect(bits, bounds, keys, point, rows, word, possible, found, count)
    return count


@njit(cache=True, nogil=True)
def _collect(  # noqa: PLR0913, PLR0917 - a loop body of its own, inlined
    bits: Words,
    bounds: Floats,
    keys: Ints,
    point: Floats,
    rows: Ints,
    word: int,
    possible: np.uint64,
    found: Ints,
    count: int,
) -> int:
    """Those of the possible boxes of a word that hold the point.

    A box that touches the point's slab may hold it; one that also touches both neighbours surely does,
    so only boxes with an end nearby are compared. For one or two, comparing is quicker than to know.
    """
    sure = ZERO
    rest = possible & (possible - ONE)
    if rest & (rest - ONE) != ZERO:
        sure = possible
        for a in range(rows.shape[0]):
            sure &= bits[a, rows[a] - 1, word] & bits[a, rows[a] + 1, word]
    while possible != ZERO:
        bit = possible & (~possible + ONE)
        possible ^= bit
        box = (word << 6) + PLACE[(bit * DE_BRUIJN) >> TOP_SIX]
        if sure & bit != ZERO or _holds(bounds, box, point):
            found[count] = keys[box]
            count += 1
    return count


@njit(cache=True, nogil=True)
def _holds(bounds: Floats, box: int, point: Floats) -> bool:
    for a in range(point.shape[0]):  # noqa: SIM110 - compiles to less than all()
        if not bounds[box, 2 * a] <= point[a] <= bounds[box, 2 * a + 1]:
            return False
    return True
