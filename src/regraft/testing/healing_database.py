"""The destination database in the simulation: the real queue of grants and the real groups, in one value.

It decides the order of requests, the members of a group and their lives as a real database does. How a
database stores this, and how its copies agree, is tested elsewhere.
"""

from collections.abc import Callable

import msgspec

from regraft.deploy.records import Current
from regraft.heal.database import grants
from regraft.heal.database.grants import GrantQueue, QueuedRequest
from regraft.heal.database.group import concerned, grant_of
from regraft.heal.database.records import BrokerRecord, Map
from regraft.heal.grant import Denied, Grant, GrantRequest
from regraft.heal.rules import PAPER_RULES, Checked, check, parse
from regraft.testing.network import Clock

RULES = check(parse(PAPER_RULES), {"User Defined": 3.0})
NO_DELETION = Checked(tuple(each for each in RULES.rules if each.rule.on.name != "deleteBrokerRequest"))


class HealingDatabase:
    """`overdue` is called with each grant that was not given back in time."""

    PATIENCE = 5.0
    OVERDUE = 10.0
    """How long an asker that has died with its grant keeps others waiting."""

    def __init__(
        self, clock: Clock, current: Callable[[], Current], overdue: Callable[[QueuedRequest], None]
    ) -> None:
        self.queue = GrantQueue()
        self.records: dict[str, BrokerRecord] = {}
        self.rules = RULES
        self.given: set[tuple[str, str]] = set()
        """Grants with the askers that were told of them."""
        self._clock = clock
        self._current = current
        self._overdue = overdue
        self._seen: dict[str, float] = {}

    def request(self, request: GrantRequest) -> Grant | Denied | None:
        """None if other requests come first."""
        current = self._current()
        map = Map(epoch=current.epoch, brokers=current.brokers, links=current.links)
        ids = concerned(map, request)
        if isinstance(ids, str):
            return Denied(ids)
        found = grants.requested(self.queue, request, ids)
        assert found is not None
        self.queue, id = found
        if grants.before(self.queue, id) is not None:
            return None
        group = grant_of(id, map, request, self.records)
        if isinstance(group, str):
            self.release(id)
            return Denied(group)
        self.queue = grants.granted(self.queue, id, group)
        entry = grants.entry_of(self.queue, id)
        assert entry is not None
        self.given.add((id, request.asker))
        return entry.grant

    def release(self, id: str) -> None:
        self.queue = grants.released(self.queue, id)

    def sweep(self) -> None:
        """Releases overdue grants; called now and then."""
        self._seen = grants.observed(self.queue, self._seen, self._clock.now)
        for id in grants.overdue(self.queue, self._seen, self._clock.now, self.OVERDUE):
            entry = grants.entry_of(self.queue, id)
            assert entry is not None
            self.release(id)
            self._overdue(entry)

    def put(self, record: BrokerRecord) -> None:
        self.records[record.id] = record

    def left(self, record: BrokerRecord) -> None:
        before = self.records.get(record.id, record)
        if before.state != "up":
            self.records[record.id] = msgspec.structs.replace(before, state="left", heir=record.heir, port=0)
