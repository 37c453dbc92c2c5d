"""Our own topics among all brokers that have them: when a topic is in place here, and when we may leave it.

    ● ─┬──a client wants it──▶ JOINING ──known, and connected──▶ PLACED
       └──it was a relay before a restart──┬──▶ RELAY
                                           └──the topic has not begun──▶ IDLE
    JOINING ─┐
    PLACED ──┴──no client wants it──┬──▶ LEAVING
                                    └──others need us──▶ RELAY
    JOINING ──no client wants it, others need us, it has not begun──▶ IDLE ──it begins──▶ RELAY
    RELAY ───┐
    IDLE ────┤
    LEAVING ─┴──a client wants it──▶ JOINING
    RELAY ─┐
    IDLE ──┴──others do not need us any more──▶ LEAVING
    LEAVING ──known, and not connected without us──┬──▶ RELAY
                                                   └──the topic has not begun──▶ IDLE

A topic that is connected without a broker that is LEAVING it is no longer the broker's.

To join a topic is to say so (`mesh_roster`), to wait until enough brokers know it, and then to look: the
topic is in place here when it is connected among all brokers that have it and are not about to leave. To
leave is the same: a broker whose clients have all withdrawn still passes the topic on until it is known
that it leaves, and goes if the topic is connected without it and without all others that are leaving.

Say first, look afterwards: of two brokers that do so at the same time, one at least sees the other. So two
that are told "in place" are connected over brokers that stay, and one that would break that has seen it and
waits.

What is in place stays so. A newcomer that is not connected waits alone, and so do filters that come after
it; only when links are taken away from those that were in place do their publishers wait again.
"""

from collections.abc import Callable

from regraft.broker.core.effects import Store
from regraft.broker.core.mesh_connected import TopicConnectivity
from regraft.broker.core.mesh_interest import MeshInterest
from regraft.broker.core.mesh_roster import Rosters, TopicState
from regraft.model.transitions import Machine, Transitions

TOPIC = "topic/"
"""The prefix of the key under which it is stored that we have a topic."""
SAY_AGAIN = 1.0
"""Seconds after which a roster that too few brokers know is sent again."""

JOINED, SETTLED, PLACED = b"joined", b"settled", b"placed"

_S = TopicState
TOPIC_STATES = Transitions(
    {_S.JOINING, _S.RELAY, _S.IDLE},
    {
        _S.JOINING: {_S.PLACED, _S.LEAVING, _S.RELAY, _S.IDLE},
        _S.PLACED: {_S.LEAVING, _S.RELAY},
        _S.RELAY: {_S.JOINING, _S.LEAVING},
        _S.IDLE: {_S.JOINING, _S.LEAVING, _S.RELAY},
        _S.LEAVING: {_S.JOINING, _S.RELAY, _S.IDLE},
    },
)


class Membership:
    """The topics of one broker. `left` is called when a topic is no longer ours."""

    def __init__(
        self, interest: MeshInterest, rosters: Rosters, level: int, left: Callable[[str], None]
    ) -> None:
        self.interest = interest
        self.rosters = rosters
        self.connected = TopicConnectivity(rosters, level)
        self.left = left
        self._machines: dict[str, Machine[TopicState]] = {}
        self._stored: dict[str, bytes] = {}
        self._unstored: set[str] = set()
        self._changed: set[str] = set()
        self._said: dict[str, int] = {}
        """For topics whose state others have to know first: the number of our roster that says it."""
        self._vacated: set[str] = set()
        """Topics whose last filter has just gone; another one may take its place within the same event."""
        self._unsettled: set[str] = set()
        self._relays: set[str] = set()
        self._said_at = 0.0
        self._relinked = True
        """Our links have to be told to the others, as they have to when we start."""
        self._judged_at = (-1, -1, -1)
        self._settled: list[str] = []

    def restore(self, stored: dict[str, bytes]) -> None:
        """After a start, when the sessions are restored: what we had told the others before is still so."""
        for key, value in stored.items():
            topic = key.removeprefix(TOPIC)
            if not key.startswith(TOPIC):
                continue
            self._stored[topic] = value
            relays = topic not in self.interest.own
            if relays:
                self.interest.stay(topic)
            if value == JOINED:
                self.interest.own[topic].settled = False
                self._unsettled.add(topic)
            if relays:
                self._become(topic, self._relaying(topic))
            elif value == PLACED:
                self._become(topic, TopicState.PLACED)

    # What clients want

    def join(self, topic: str) -> None:
        """The first client wants it."""
        if topic in self._vacated:
            self._vacated.discard(topic)  # one filter took another's place
        else:
            self._become(topic, TopicState.JOINING)

    def leave(self, topic: str) -> None:
        """The last client that wanted it has gone."""
        self._vacated.add(topic)

    def relinked(self) -> None:
        self._relinked = True

    # What may be said of a topic

    def state_of(self, topic: str) -> TopicState | None:
        """None if we do not have it."""
        machine = self._machines.get(topic)
        return machine.state if machine is not None else None

    @property
    def states(self) -> dict[str, TopicState]:
        return {topic: machine.state for topic, machine in self._machines.items()}

    def is_placed(self, topic: str) -> bool:
        return self.state_of(topic) is TopicState.PLACED and self.interest.is_ready(topic)

    def why_not(self, topic: str) -> str:
        """Why a filter on this topic is not in place; empty if nothing is in the way."""
        rosters = self.rosters
        if not rosters.informed:
            return (
                f"topic {topic!r}: brokers have not been heard of since the start: {_list(rosters.unknown())}"
            )
        if reason := self.connected.lacking(topic):
            return reason
        if topic in self._said:
            unaware = rosters.unaware(self._said[topic], rosters.members.get(topic, ()))
            return f"topic {topic!r}: brokers have not answered: {_list(unaware)}"
        if not self.interest.is_ready(topic):
            return f"topic {topic!r}: too few neighbours have said where it stands"
        return ""

    # What follows

    def judge(self, now: float) -> None:
        """Tell what has changed; then decide what is in place and what we may leave, by what is known."""
        for topic in sorted(self._vacated):
            needed = self.connected.needs_relay(topic)
            self._become(topic, self._relaying(topic) if needed else TopicState.LEAVING)
        self._vacated.clear()
        if self._said and now - self._said_at >= SAY_AGAIN and self._is_unknown():
            self._relinked = True
        if self._changed or self._relinked:
            self._say(now)
        before = (self.rosters.changes, self.rosters.answers, self.interest.changes)
        if self._judged_at == before:
            return
        self._judged_at = before
        for topic in [each for each in sorted(self._unsettled) if self.interest.was_told(each)]:
            self._settle(topic)
        if self.rosters.informed:
            for topic in [each for each in self._said if self._is_known(each)]:
                self._decide(topic)
            for topic in [each for each in sorted(self._relays) if not self.connected.needs_relay(each)]:
                self._become(topic, TopicState.LEAVING)
        if self._changed:
            self._say(now)

    def _say(self, now: float) -> None:
        changed = {topic: self._named(topic) for topic in sorted(self._changed)}
        number = self.rosters.say(changed)
        for topic in sorted(self._changed):
            if self.state_of(topic) in (TopicState.JOINING, TopicState.LEAVING):
                self._said[topic] = number
        self._said_at = now
        self._changed.clear()
        self._relinked = False

    def _named(self, topic: str) -> tuple[str, TopicState] | None:
        state = self.state_of(topic)
        return (self.interest.own[topic].mark, state) if state is not None else None

    def _decide(self, topic: str) -> None:
        if self.state_of(topic) is TopicState.LEAVING:
            if self.connected.lacking(topic):
                self._become(topic, self._relaying(topic))
                return
            del self._machines[topic], self._said[topic]
            self._unsettled.discard(topic)
            self._changed.add(topic)
            self._unstored.add(topic)
            self.interest.drop(topic)
            self.left(topic)
        elif self.interest.is_ready(topic) and not self.connected.lacking(topic):
            others = self.rosters.members.get(topic, {}).values()
            if all(state in (TopicState.JOINING, TopicState.IDLE) for state in others):
                self._settle(topic)  # it begins with us
            if self.interest.is_settled(topic):
                self._become(topic, TopicState.PLACED)

    def _settle(self, topic: str) -> None:
        if topic in self._unsettled:
            self._unsettled.discard(topic)
            self.interest.own[topic].settled = True
            self._settled.append(topic)
            self._unstored.add(topic)
            if topic in self._relays:
                self._become(topic, TopicState.RELAY)

    def _relaying(self, topic: str) -> TopicState:
        return TopicState.RELAY if self.interest.own[topic].settled else TopicState.IDLE

    def _is_known(self, topic: str) -> bool:
        return not self.rosters.unaware(self._said[topic], self.rosters.members.get(topic, ()))

    def _is_unknown(self) -> bool:
        return any(not self._is_known(topic) for topic in self._said)

    def _become(self, topic: str, state: TopicState) -> None:
        if (machine := self._machines.get(topic)) is None:
            self._machines[topic] = Machine(TOPIC_STATES, state, f"topic {topic!r}")
        else:
            machine.become(state)
        (self._relays.add if state in (TopicState.RELAY, TopicState.IDLE) else self._relays.discard)(topic)
        if not self.interest.own[topic].settled:
            self._unsettled.add(topic)
        self._said.pop(topic, None)
        self._changed.add(topic)
        self._unstored.add(topic)

    @property
    def has_news(self) -> bool:
        """Whether something about our topics has not been said yet."""
        return bool(self._changed or self._vacated)

    def take_settled(self) -> list[str]:
        """Topics on which neighbours may be told where the streams stand, since the last call."""
        settled, self._settled = self._settled, []
        return settled

    def _remembered(self, topic: str) -> bytes | None:
        state = self.state_of(topic)
        if state is None or state is TopicState.PLACED:
            return PLACED if state is not None else None
        return SETTLED if self.interest.own[topic].settled else JOINED

    def take_stores(self) -> list[Store]:
        """What has to be stored before any message about it leaves."""
        stores = []
        for topic in sorted(self._unstored):
            value = self._remembered(topic)
            if self._stored.get(topic) == value:
                continue
            if value is None:
                del self._stored[topic]
            else:
                self._stored[topic] = value
            stores.append(Store(TOPIC + topic, value))
        self._unstored.clear()
        return stores


def _list(names: list[str]) -> str:
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
