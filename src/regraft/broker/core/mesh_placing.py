"""Which filters of clients are not in place yet, topic by topic, and why.

A subscription is in place when all its topics are in place here (`mesh_membership`) and were connected among
all brokers that have them at some time since it came; an advertisement also needs a subscriber or a neighbour
with the topic.
What was in place before a restart is so again without the second condition: a newcomer that is not connected
must not stop it.
"""

from collections.abc import Callable, Iterable

from regraft.broker.core.mesh_membership import Membership

Key = tuple[str, str]
"""Names a filter: its client's target, and its id."""
SAY_AFTER = 1.0
"""A client whose filter waits for longer than this many seconds is told why."""


class _Unplaced:
    def __init__(self, publishes: bool) -> None:
        self.publishes = publishes
        self.topics: dict[str, bool] = {}
        """Topics on which it is not in place, and whether they have to be connected among all brokers."""
        self.since: float | None = None
        self.said = ""


class MeshPlacing:
    """The filters of one broker. `subscribed` tells whether a client here subscribes to a topic."""

    def __init__(self, membership: Membership, subscribed: Callable[[str], bool]) -> None:
        self.membership = membership
        self.subscribed = subscribed
        self._waiting: dict[Key, _Unplaced] = {}
        self._news = False
        self._looked_at = (-1, -1)

    def wait_for(self, key: Key, topics: Iterable[str], publishes: bool, restored: bool) -> None:
        """The client is to be told when the filter is in place on these topics too."""
        unplaced = self._waiting.setdefault(key, _Unplaced(publishes))
        unplaced.topics |= dict.fromkeys(topics, not restored)
        self._news = True

    def drop(self, key: Key) -> None:
        self._waiting.pop(key, None)
        self._news = True

    def is_placed(self, key: Key, topic: str) -> bool:
        """Whether the filter is in place on this topic of its."""
        unplaced = self._waiting.get(key)
        return unplaced is None or topic not in unplaced.topics

    def usable(self, topic: str) -> bool:
        """Whether something may be published on the topic now: it reaches all brokers that rely on it."""
        membership = self.membership
        return (
            membership.is_placed(topic)
            and membership.interest.may_publish(topic, self.subscribed(topic))
            and not membership.connected.cut_off(topic)
        )

    def take_placed(self) -> list[Key]:
        """The filters that are in place since the last call."""
        now = (self.membership.rosters.changes, self.membership.interest.changes)
        if not self._news and self._looked_at == now:
            return []
        self._news, self._looked_at = False, now
        placed = []
        for key, unplaced in list(self._waiting.items()):
            for topic in [
                each for each, strictly in unplaced.topics.items() if self._done(each, strictly, unplaced)
            ]:
                del unplaced.topics[topic]
            if not unplaced.topics:
                del self._waiting[key]
                placed.append(key)
        return placed

    def _done(self, topic: str, strictly: bool, unplaced: _Unplaced) -> bool:
        if not self.membership.is_placed(topic):
            return False
        if strictly and self.membership.connected.lacking(topic):
            return False
        return not unplaced.publishes or self.usable(topic)

    def take_reasons(self, now: float) -> list[tuple[Key, str]]:
        """Why filters that have waited for a while are not in place, if the reason is new."""
        reasons = []
        for key, unplaced in self._waiting.items():
            if unplaced.since is None:
                unplaced.since = now
            if now - unplaced.since >= SAY_AFTER and (reason := self._reason(unplaced)) != unplaced.said:
                unplaced.said = reason
                reasons.append((key, reason))
        return reasons

    def _reason(self, unplaced: _Unplaced) -> str:
        for topic in unplaced.topics:
            if reason := self.membership.why_not(topic) or self.membership.connected.cut_off(topic):
                return reason
        return f"nobody subscribes to topic {next(iter(unplaced.topics))!r} yet"
