"""How many publications one that is recorded stands for: as few as fit into a budget of bytes.

The rate is doubled when segments exceed the budget, as often as it takes, and halved when they have needed
less than a quarter of it for a while, so that it does not swing. It is the configured one times a power of
two: then samples of different rates are parts of each other (`protocol.sampling`).
"""

QUIET_SECONDS = 30.0
"""For so long a smaller rate has to be enough before it is taken."""
MOST = 2**20


class SamplingRate:
    def __init__(self, one_in: int, bytes_per_second: float) -> None:
        """Never more is recorded than one publication in `one_in`. Infinitely many bytes: the rate stays."""
        self.least = self.one_in = one_in
        self._budget = bytes_per_second
        self._quiet_for = 0.0

    def closed(self, size: int, seconds: float, traces: float) -> None:
        """A segment of so many bytes was filled in this time. `traces` is the share of its records that are
        about single publications: only they become fewer."""
        rate = size / max(seconds, 1e-3)
        self._quiet_for = self._quiet_for + seconds if 4 * rate < self._budget else 0.0
        if rate > self._budget and traces > 0.5:
            while rate > self._budget and self.one_in < MOST:
                self.one_in *= 2
                rate /= 2
        elif self._quiet_for >= QUIET_SECONDS and self.one_in > self.least:
            self.one_in //= 2
            self._quiet_for = 0.0
