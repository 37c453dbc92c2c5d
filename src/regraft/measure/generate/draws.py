"""Random numbers that belong to a row: a hash of the seed, what is drawn, and the row's number."""

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column
from pyspark.sql import functions as f

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))


def uniform(seed: int, what: str, *columns: Column) -> Column:
    """From 0 up to 1, for each row."""
    return word(seed, what, *columns) / f.lit(float(2**53))


def word(seed: int, what: str, *columns: Column) -> Column:
    """A whole number of 53 bits, for each row."""
    return f.xxhash64(f.lit(seed), f.lit(what), *columns).bitwiseAND(f.lit(2**53 - 1))


def uniform_array(seed: int, rows: Words, columns: Words) -> Floats:
    """The same idea for arrays: one number for each row and column (SplitMix64 of both)."""
    start = mixed(mixed(np.array([seed], dtype=np.uint64)) + rows)
    drawn = mixed(start[:, None] + columns[None, :] * _STEP)
    # Half a step is added, so that it is never 0 and has a logarithm.
    return ((drawn >> np.uint64(11)).astype(np.float64) + 0.5) / 2**53


def mixed(words: Words) -> Words:
    """SplitMix64: every bit of the result depends on all bits of the word."""
    words = words + _STEP
    for shift, factor in _MIX:
        words = (words ^ (words >> np.uint64(shift))) * factor
    found: Words = words ^ (words >> np.uint64(31))
    return found
