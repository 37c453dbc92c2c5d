"""Which brokers a mesh has, how they are linked, which topics each has, and which of them know that of us.

Every broker says its own links and topics, numbered (`Roster`). That is passed on over all links of the
mesh, whatever topics they serve: a broker hears of an interest in a topic also if no broker between has
that topic. On a new connection everything is said in full, then only what changes; connections keep order,
so a broker that hears a change has the roster that it changes.

A broker that has heard a roster says so (`Known`), and that goes back the way on which the roster came.
Before it leaves, the broker has passed on all rosters that it had: so, when b's `Known` reaches a, a has
heard everything that b had heard when it said so. If one is lost with a connection, a says its roster
anew, with the next number. `mesh_membership` decides on this, and decision 23 says why it is enough.

A broker that was restarted has forgotten. It says `Known` only when it is *informed*: all its neighbours,
but for k − 2, have told it everything, and it has a roster of every broker that a roster names.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum

from regraft.broker.core.mesh_interest import MeshLink
from regraft.model import BadInput
from regraft.protocol.messages import Known, Roster


class TopicState(IntEnum):
    """What a broker says of a topic that it has."""

    JOINING = 0
    """A client here wants it; it is not in place."""
    PLACED = 1
    RELAY = 2
    """No client here wants it any more; it is passed on, because others need that."""
    LEAVING = 3
    """As a relay, but others should not rely on it: it leaves, if that does no harm."""
    IDLE = 4
    """As a relay, but the topic has not begun, as far as this broker was told."""


LIVES_APART = 2**32
"""The numbers of a life begin this far above those of the life before, so that all of them are greater."""


class RosterEntry:
    """What one broker last said of itself."""

    def __init__(self, number: int, links: Iterable[str]) -> None:
        self.number = number
        self.links = frozenset(links)
        self.topics: dict[str, tuple[str, int]] = {}


class Rosters:
    """The rosters that one broker has heard, its own among them. `links` are its neighbours."""

    def __init__(self, broker: str, life: int, links: Mapping[str, MeshLink], k: int) -> None:
        self.broker = broker
        self.links = links
        self.k = k
        self.own = RosterEntry(life * LIVES_APART, links)
        self.entries = {broker: self.own}
        self.members: dict[str, dict[str, TopicState]] = {}
        """By topic: the brokers that have it."""
        self.changes = 0
        """Grows with every roster that is news."""
        self.answers = 0
        """Grows whenever we hear which brokers know our roster."""
        self.informed = False
        self._known: dict[str, int] = {}
        """By broker: the number of our roster that it has."""
        self._ways: dict[str, str] = {}
        """By broker: the neighbour from which its roster came."""
        self._unsaid: set[str] = set()
        """Brokers to which we have not said that we know their roster."""
        self._spreading: list[tuple[Roster, str]] = []
        self._answers: dict[tuple[str, int], set[str]] = {}
        self._overlay: tuple[int, set[str]] = (-1, set())
        self._missing_at = (-1, -1)
        self._missing_by_number: dict[int, set[str]] = {}

    # Our own

    def say(self, topics: Mapping[str, tuple[str, TopicState] | None]) -> int:
        """Our links, and topics that have come, changed or (None) gone; the number under which we say so."""
        own, base = self.own, self.own.number
        own.number += 1
        own.links = frozenset(self.links)
        gone = sorted(topic for topic, state in topics.items() if state is None)
        named = [(topic, *state) for topic, state in sorted(topics.items()) if state is not None]
        self._note(self.broker, own, named, gone)
        self._spreading.append(
            (Roster(self.broker, own.number, base, sorted(own.links), _plain(named), gone), "")
        )
        return own.number

    # Others'

    def everything(self) -> list[Roster]:
        """What a neighbour is told first on a new connection."""
        return [
            Roster(
                name,
                entry.number,
                0,
                sorted(entry.links),
                [(topic, *state) for topic, state in entry.topics.items()],
            )
            for name, entry in self.entries.items()
        ]

    def heard(self, roster: Roster, source: str) -> bool:
        """A neighbour passes on what a broker says of itself; returns whether it is news."""
        entry = self.entries.get(roster.broker)
        if roster.broker == self.broker:
            if roster.number > self.own.number:  # brokers that have that one ignore lower numbers
                self.own.number = roster.number + 1
                self._spreading += [(each, "") for each in self.everything() if each.broker == self.broker]
            return False
        if entry is not None and roster.number <= entry.number:
            return False
        if roster.base == 0:
            gone = sorted(entry.topics) if entry is not None else []
            entry = RosterEntry(roster.number, roster.links)
        elif entry is None or entry.number != roster.base:
            raise BadInput("roster", f"changes number {roster.base} of {roster.broker!r}, which is not known")
        else:
            entry.number, entry.links, gone = roster.number, frozenset(roster.links), roster.gone
        self.entries[roster.broker] = entry
        self._note(roster.broker, entry, roster.topics, gone)
        self._ways[roster.broker] = source
        self._unsaid.add(roster.broker)
        self._spreading.append((roster, source))
        return True

    def _note(
        self, name: str, entry: RosterEntry, topics: Iterable[tuple[str, str, int]], gone: Iterable[str]
    ) -> None:
        self.changes += 1
        for topic in gone:
            entry.topics.pop(topic, None)
            if (members := self.members.get(topic)) is not None:
                members.pop(name, None)
                if not members:
                    del self.members[topic]
        for topic, mark, state in topics:
            entry.topics[topic] = (mark, state)
            self.members.setdefault(topic, {})[name] = TopicState(state)

    def known(self, message: Known) -> None:
        """Brokers have a roster: ours, or that of a broker to which we pass this on."""
        if message.broker == self.broker:
            self.answers += 1
            for name in message.by:
                self._known[name] = max(message.number, self._known.get(name, 0))
        else:
            self._answers.setdefault((message.broker, message.number), set()).update(message.by)

    # Which brokers there are, and which know our roster

    @property
    def overlay(self) -> set[str]:
        """The brokers of the mesh: all that can be reached from us over links."""
        if self._overlay[0] != self.changes:
            found, todo = {self.broker}, [self.broker]
            while todo:
                entry = self.entries.get(todo.pop())
                new = entry.links - found if entry is not None else ()
                found.update(new)
                todo.extend(new)
            self._overlay = (self.changes, found)
        return self._overlay[1]

    def unknown(self) -> list[str]:
        """Brokers that others name and that we have not heard of, and neighbours that told us too little."""
        absent = self.overlay - self.entries.keys()
        silent = {name for name, link in self.links.items() if not link.told_all}
        return sorted(absent | silent if len(silent) > max(0, self.k - 2) else absent)

    def unaware(self, number: int, members: Iterable[str]) -> list[str]:
        """Brokers that have to hear this roster of ours; none, if enough have.

        Members of the topic all have to. Of the others, as many may be missing as may have failed, while
        more than half of the mesh is not: of two brokers that ask at the same time, one is heard of first.
        """
        missing = self._missing(number)
        spared = missing <= self.entries.keys() and missing.isdisjoint(members)
        if spared and len(missing) <= min(self.k - 1, (len(self.overlay) - 1) // 2):
            return []
        return sorted(missing)

    def _missing(self, number: int) -> set[str]:
        if self._missing_at != (now := (self.changes, self.answers)):
            self._missing_at = now
            self._missing_by_number.clear()
        if (missing := self._missing_by_number.get(number)) is None:
            others = self.overlay - {self.broker}
            missing = {name for name in others if self._known.get(name, 0) < number}
            self._missing_by_number[number] = missing
        return missing

    # What leaves

    def take_rosters(self) -> list[tuple[Roster, str]]:
        """What is to be passed on, and the neighbour that it came from."""
        spreading, self._spreading = self._spreading, []
        return spreading

    def take_known(self) -> list[tuple[str, Known]]:
        """The `Known` messages to send, each with the neighbour that it goes to."""
        if not self.informed and not self.unknown():
            self.informed = True
            self.answers += 1
        if self.informed:
            for name in sorted(self._unsaid):
                self._answers.setdefault((name, self.entries[name].number), set()).add(self.broker)
            self._unsaid.clear()
        answers, self._answers = self._answers, {}
        return [
            (self._ways[name], Known(name, number, sorted(by)))
            for (name, number), by in answers.items()
            if name in self._ways
        ]


def _plain(named: list[tuple[str, str, TopicState]]) -> list[tuple[str, str, int]]:
    return [(topic, mark, int(state)) for topic, mark, state in named]
