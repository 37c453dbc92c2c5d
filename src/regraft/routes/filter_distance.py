"""How different two filters are (Content routes §4.3, §5.1.6).

The thesis compares prefixes: the longer the shared expression (4.33)–(4.36), the nearer. Who wants the events
is another matter, which spectral clustering and clustering by overlap look at.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regraft.filters.dz import DzSet


def prefix_distances(filters: Sequence[DzSet]) -> NDArray[np.int64]:
    """Digits after the shared expression, of the longer of the two: 0 for equal expressions.

    A filter counts as the expression that its own expressions share. An ultrametric up to the length: the
    shared expressions of three filters are two equal ones and a longer one.
    """
    prefixes = [part.shared for part in filters]
    most = max(map(len, prefixes), default=0)
    # One column per digit, and what ends differs from everything but itself.
    digits = np.array([[ord(c) for c in prefix.ljust(most)] for prefix in prefixes], dtype=np.uint8)
    digits = digits.reshape(len(filters), most)
    equal = np.ones((len(filters), len(filters)), dtype=bool)
    common = np.zeros((len(filters), len(filters)), dtype=np.int64)
    for column in digits.T:
        equal &= (column[:, None] == column[None, :]) & (column != ord(" "))[:, None]
        common += equal
    longest: NDArray[np.int64] = np.full_like(common, most)
    same = np.array(prefixes, dtype=object)
    return np.where(same[:, None] == same[None, :], 0, longest - common)
