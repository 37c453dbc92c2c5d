"""How many publications one that is recorded stands for: as few as fit into a budget of bytes.

The rate is doubled when segments exceed the budget, as often as it takes, and halved when they have needed
less than a quarter of it for a while, so that it does not swing. It is the configured one times a power of
two: then samples of different rates are parts of each other (`protocol.sampling`).
"""

PERIOD_SECONDS = 2.0
"""What was written is judged for at least so long: a moment of many records is no reason to record fewer."""
QUIET_SECONDS = 30.0
"""For so long a smaller rate has to be enough before it is taken."""
MOST = 2**20


class SamplingRate:
    def __init__(self, one_in: int, bytes_per_second: float) -> None:
        """Never more is recorded than one publication in `one_in`. Infinitely many bytes: the rate stays."""
        self.least = self.one_in = one_in
        self._budget = bytes_per_second
        self._size = self._seconds = self._traces = 0.0
        self._quiet_for = 0.0

    def closed(self, size: int, seconds: float, traces: float) -> None:
        """A segment of so many bytes was closed so long after the last one. `traces` is the share of its
        records that are about single publications: only they become fewer."""
        self._size += size
        self._seconds += seconds
        self._traces += size * traces
        if self._seconds >= PERIOD_SECONDS:
            self._judge(self._size / self._seconds, self._traces / self._size)
            self._size = self._seconds = self._traces = 0.0

    def _judge(self, rate: float, traces: float) -> None:
        self._quiet_for = self._quiet_for + self._seconds if 4 * rate < self._budget else 0.0
        if rate > self._budget and traces > 0.5:
            one_in = self.one_in
            while rate > self._budget and 2 * one_in <= MOST:
                one_in *= 2
                rate /= 2
            self.one_in = one_in  # once, because another thread reads it
        elif self._quiet_for >= QUIET_SECONDS and self.one_in > self.least:
            self.one_in //= 2
            self._quiet_for = 0.0
