"""What happens to the packets from one host to another: a pure decision.

Knows no packet, descriptor or clock. The router asks once for each packet, with the random numbers of the
lab's seed, and carries the answer out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from random import Random

Pair = tuple[int, int]
"""The numbers of the sending and of the receiving host."""


@dataclass(frozen=True)
class PairRule:
    """The conditions in one direction; the opposite direction has a rule of its own."""

    latency_ms: float = 0.0
    jitter_ms: float = 0.0
    """Each packet takes up to this much longer, evenly distributed, so packets may overtake each other."""
    loss: float = 0.0
    """The probability that a packet is dropped."""
    cut: bool = False
    """Every packet is dropped, including those which were sent before the cut and have not arrived."""

    def __post_init__(self) -> None:
        if self.latency_ms < 0 or self.jitter_ms < 0:
            raise ValueError(f"a packet cannot arrive before it is sent: {self}")
        if not 0 <= self.loss <= 1:
            raise ValueError(f"loss is a probability: {self}")

    def delay(self, random: Random) -> float | None:
        """The seconds until a packet that is sent now arrives; None if it never does."""
        if self.cut or (self.loss and random.random() < self.loss):
            return None
        jitter = self.jitter_ms * random.random() if self.jitter_ms else 0.0
        return (self.latency_ms + jitter) / 1000


Rules = Mapping[Pair, PairRule]
"""A rule for each ordered pair of hosts."""


def uniform(count: int, rule: PairRule) -> dict[Pair, PairRule]:
    """The same rule for all ordered pairs of the hosts 1 … count."""
    return dict.fromkeys(permutations(range(1, count + 1), 2), rule)


def partitioned(rules: Rules, groups: Iterable[Iterable[int]]) -> dict[Pair, PairRule]:
    """No host reaches a host of another group. Hosts that are in no group are not affected."""
    apart = [
        pair
        for one, other in combinations([set(group) for group in groups], 2)
        for a in one
        for b in other
        for pair in ((a, b), (b, a))
    ]
    if twice := sorted({a for a, b in apart if a == b}):
        raise ValueError(f"a host is on one side of a partition only: {twice}")
    return {**rules, **{pair: replace(rules[pair], cut=True) for pair in apart}}


def healed(rules: Rules) -> dict[Pair, PairRule]:
    """All cuts and partitions end; latency and loss stay."""
    return {pair: replace(rule, cut=False) for pair, rule in rules.items()}
