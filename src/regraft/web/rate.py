"""How often one caller may ask: a bucket of tokens for each. Pure; the time is an argument."""

from collections import OrderedDict
from dataclasses import dataclass


@dataclass(frozen=True)
class Rate:
    """`per_second` in the long run, `burst` at once."""

    per_second: float
    burst: int


@dataclass
class _Bucket:
    left: float
    at: float


class Buckets:
    """One bucket for each caller; those who were quiet longest are forgotten (their buckets are full)."""

    def __init__(self, rate: Rate, most: int = 10_000) -> None:
        self.rate = rate
        self._most = most
        self._of: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, caller: str, now: float) -> float:
        """0.0: go on. Otherwise the seconds after which asking again makes sense."""
        bucket = self._filled(caller, now)
        if bucket.left >= 1.0:
            bucket.left -= 1.0
            return 0.0
        return (1.0 - bucket.left) / self.rate.per_second

    def left(self, caller: str, now: float) -> float:
        """The seconds until the caller may ask, without asking."""
        missing = 1.0 - self._filled(caller, now).left
        return max(0.0, missing / self.rate.per_second)

    def _filled(self, caller: str, now: float) -> _Bucket:
        bucket = self._of.setdefault(caller, _Bucket(float(self.rate.burst), now))
        grown = bucket.left + (now - bucket.at) * self.rate.per_second
        bucket.left, bucket.at = min(float(self.rate.burst), grown), now
        self._of.move_to_end(caller)
        while len(self._of) > self._most:
            self._of.popitem(last=False)
        return bucket

    def __len__(self) -> int:
        return len(self._of)
