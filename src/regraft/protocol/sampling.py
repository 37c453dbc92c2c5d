"""Which publications a sample keeps, so that all brokers keep the same ones.

It depends on the publisher and the publication's number only. Readers take it that each publication is in the
sample with probability 1/N, independently of the others: the standard errors of tables rest on that. A
checksum alone is not enough. It is linear in the bits of the number, so that of a publisher which sends every
eighth publication to one topic, a sample of one in two would keep all of that topic, or nothing, for long
stretches. The multiplication breaks that.
"""

import zlib
from collections.abc import Callable

_FACTOR = 0x9E3779B97F4A7C15
"""2⁶⁴ divided by the golden ratio, as in multiplicative hashing."""
_LOW = 0xFFFFFFFF


def sample(publisher: str, one_in: int) -> Callable[[int], bool]:
    """Says of each number of a publisher whether one publication in `one_in` is that one."""
    start = zlib.crc32(publisher.encode())

    def keeps(seq: int) -> bool:
        mixed = zlib.crc32(seq.to_bytes(8, "big"), start) * _FACTOR >> 32 & _LOW
        return mixed % one_in == 0

    return keeps
