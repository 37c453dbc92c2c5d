"""ZooKeeper in the simulation: nodes with versions, transactions, one lease, and outages.

All writes are conditional, as they are in `deploy`. While the leader is lost nothing is answered; a write
that is under way then may happen or not, and its writer does not learn which.
"""

from collections.abc import Mapping
from random import Random
from typing import NamedTuple

from regraft.coord import Record
from regraft.deploy.deployer_core import Same, Transaction
from regraft.testing.network import Clock


class StoredRecord(NamedTuple):
    """What a node holds, and its version, which every write increases."""

    record: Record
    version: int


class SimulatedEnsemble:
    def __init__(self, clock: Clock, rng: Random) -> None:
        self.clock = clock
        self.rng = rng
        self.nodes: dict[str, StoredRecord] = {}
        self.away_until = 0.0
        self.holder = ""
        """The deployer that holds the lease; empty if none does."""
        self.writes = 0
        self._seen: dict[str, StoredRecord] = {}
        self._seen_at = -1

    @property
    def away(self) -> bool:
        return self.clock.now < self.away_until

    def lose_leader(self, seconds: float) -> None:
        self.away_until = max(self.away_until, self.clock.now + seconds)

    def commit(self, puts: Transaction, lease: str = "") -> bool:
        """Writes all or nothing. With a lease, nothing is written unless this lease is held."""
        if self.away and self.rng.random() < 0.5:
            return False
        if lease and lease != self.holder:
            return False
        if any(self._version(put.path) != put.version for put in puts):
            return False
        for put in puts:
            if isinstance(put, Same):
                continue
            self.nodes[put.path] = StoredRecord(put.record, put.version + 1)
        self.writes += 1
        return True

    def seen(self) -> Mapping[str, StoredRecord]:
        """All nodes as they are now; what is written later does not change it."""
        if self._seen_at != self.writes:
            self._seen, self._seen_at = dict(self.nodes), self.writes
        return self._seen

    def _version(self, path: str) -> int:
        return self.nodes[path].version if path in self.nodes else -1
