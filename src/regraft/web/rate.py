"""How often each caller may ask: one token bucket for each. Pure; the time is an argument."""

from collections import OrderedDict
from dataclasses import dataclass


@dataclass(frozen=True)
class Rate:
    """A caller may ask `per_second` times on average, and `burst` times at once."""

    per_second: float
    burst: int


@dataclass
class _Bucket:
    left: float
    at: float


class Buckets:
    """One bucket for each caller. Of too many, those unused longest are dropped: they are full, or nearly."""

    def __init__(self, rate: Rate, most: int = 10_000) -> None:
        self.rate = rate
        self._most = most
        self._by_caller: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, caller: str, now: float) -> float:
        """Take one token: 0.0 if there was one, else the seconds until there will be one."""
        bucket = self._filled(caller, now)
        if bucket.left >= 1.0:
            bucket.left -= 1.0
            return 0.0
        return (1.0 - bucket.left) / self.rate.per_second

    def wait(self, caller: str, now: float) -> float:
        """The seconds until there is a token; takes none."""
        missing = 1.0 - self._filled(caller, now).left
        return max(0.0, missing / self.rate.per_second)

    def _filled(self, caller: str, now: float) -> _Bucket:
        bucket = self._by_caller.setdefault(caller, _Bucket(float(self.rate.burst), now))
        grown = bucket.left + (now - bucket.at) * self.rate.per_second
        bucket.left, bucket.at = min(float(self.rate.burst), grown), now
        self._by_caller.move_to_end(caller)
        while len(self._by_caller) > self._most:
            self._by_caller.popitem(last=False)
        return bucket

    def __len__(self) -> int:
        return len(self._by_caller)
