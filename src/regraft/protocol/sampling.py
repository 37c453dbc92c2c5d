"""Which publications a sample keeps, so that all brokers keep the same ones, whatever their rates are.

The numbers of a publisher are divided into blocks of N, and one number of each block is in the sample of one
in N. A block is two blocks of half the size: it keeps what one of them keeps, and a digest of the publisher,
the size and the number of the block decides which. So the sample of one in 2N is part of that of one in N,
and brokers whose rates differ by powers of two can be compared after the fact: what the coarsest of them has
kept, all have kept (`measure.sampled`). In a block of odd size, the digest chooses the number.

Each publication is in the sample with probability 1/N, and choices in different blocks are independent of
each other. Two publications of one block are never both in it, so counts vary less than if each publication
were chosen for itself: standard errors that are computed as if it were are at most too large.

Only blocks are looked at, not publications: a run of a thousand costs no more than one of ten.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from hashlib import md5
from typing import TypeAlias

Sample: TypeAlias = Callable[[str, Sequence[int]], list[int]]
"""The publisher, and numbers of its publications in ascending order → the places of those in the sample."""
MOST_REMEMBERED = 10_000
"""Of so many blocks it is remembered what was chosen: deliveries come a little later than publications."""


def sample(one_in: int) -> Sample:
    known: dict[tuple[str, int], int] = {}
    """Publisher and block → the number chosen there."""

    def places(publisher: str, seqs: Sequence[int]) -> list[int]:
        first, last = seqs[0], seqs[-1]
        blocks: Iterable[int] = range(first // one_in, last // one_in + 1)
        if last - first >= len(seqs):  # a client may leave out so many that most blocks have none
            blocks = dict.fromkeys([seq // one_in for seq in seqs])
        found: list[int] = []
        for block in blocks:
            if (number := known.get((publisher, block))) is None:
                if len(known) >= MOST_REMEMBERED:
                    known.clear()
                number = known[publisher, block] = chosen(publisher, one_in, block)
            if first <= number <= last:
                place = bisect_left(seqs, number)
                if seqs[place] == number:
                    found.append(place)
        return found

    return places


def chosen(publisher: str, one_in: int, block: int) -> int:
    """The number of this block that is in the sample."""
    size = one_in
    while size % 2 == 0:
        block = 2 * block + digest(publisher, size, block) % 2
        size //= 2
    return block * size + (digest(publisher, size, block) % size if size > 1 else 0)


def digest(publisher: str, size: int, block: int) -> int:
    """A number that looks random; Spark computes the same one."""
    return int.from_bytes(md5(f"{publisher}/{size}/{block}".encode(), usedforsecurity=False).digest()[:4])
