"""Whether a topic is connected among the brokers that have it, as far as the rosters tell.

A link counts when both its ends say that they have it, whether or not a connection is up: a broker that
has crashed is still part of the mesh. `level` is what was promised: 1, that a topic is connected; k, that it
is k-connected, which for k brokers or fewer means that every two of them are linked (kTCO, Definition 1).
"""

from collections.abc import Iterable

from regraft.broker.core.mesh_roster import Rosters, State

MOST_NAMES = 8
"""So many brokers are named to a client at most."""


class Connected:
    """What one broker makes of the rosters that it has."""

    def __init__(self, rosters: Rosters, level: int) -> None:
        self.rosters = rosters
        self.level = level
        self._lacking: dict[str, str] = {}
        self._cut_off: dict[str, str] = {}
        self._judged_at = -1

    def lacking(self, topic: str) -> str:
        """Why the topic is not as connected as was promised, among all that will keep it; empty if it is."""
        self._refresh()
        if topic not in self._lacking:
            self._lacking[topic] = self._judge(topic)
        return self._lacking[topic]

    def needs_relay(self, topic: str) -> bool:
        """Whether the others need us on the topic, were we a relay.

        Relays with a smaller name are thought away as well: of two, each of which could go if the other
        stayed, they go first, and both do not try in vain.
        """
        ours = self.rosters.broker
        relays = {name for name, state in self._members(topic).items() if state is State.RELAY}
        return not self._is_connected(
            self._staying(topic) - {ours} - {name for name in relays if name < ours}
        )

    def cut_off(self, topic: str) -> str:
        """Why what is published here would not reach everybody who was told that the topic is in place."""
        self._refresh()
        if topic not in self._cut_off:
            members = self._members(topic)
            reached = self._reached(self.rosters.broker, {*members, self.rosters.broker})
            lost = {name for name, state in members.items() if state is State.PLACED} - reached
            self._cut_off[topic] = _apart(topic, members, min(lost), reached) if lost else ""
        return self._cut_off[topic]

    def survives(self, topic: str, one: str, other: str) -> bool:
        """Whether the topic would be connected without this link, if it is with it."""
        if self.lacking(topic):
            return True
        stay = self._staying(topic)
        return self._is_connected(stay, frozenset((one, other)))

    def _refresh(self) -> None:
        if self._judged_at != self.rosters.changes:
            self._judged_at = self.rosters.changes
            self._lacking.clear()
            self._cut_off.clear()

    def _members(self, topic: str) -> dict[str, State]:
        overlay = self.rosters.overlay
        members = self.rosters.members.get(topic, {})
        return {name: state for name, state in members.items() if name in overlay}

    def _staying(self, topic: str) -> set[str]:
        return {name for name, state in self._members(topic).items() if state is not State.LEAVING}

    def _judge(self, topic: str) -> str:
        stay = self._staying(topic)
        if len(stay) < 2:
            return ""
        first = min(stay)
        reached = self._reached(first, stay)
        if reached != stay:
            return _apart(topic, stay, min(stay - reached), reached)
        if not self._is_connected(stay):
            return f"topic {topic!r} is not {self.level}-connected among {_names(stay)}"
        return ""

    def _near(self, name: str, without: frozenset[str] = frozenset()) -> set[str]:
        entries = self.rosters.entries
        return {
            other
            for other in entries[name].links
            if other in entries and name in entries[other].links and {name, other} != without
        }

    def _reached(self, start: str, those: set[str], without: frozenset[str] = frozenset()) -> set[str]:
        found, todo = {start}, [start]
        while todo:
            new = (self._near(todo.pop(), without) & those) - found
            found |= new
            todo.extend(new)
        return found

    def _is_connected(self, those: set[str], without: frozenset[str] = frozenset()) -> bool:
        if len(those) < 2:
            return True
        if self.level == 1:
            return self._reached(min(those), those, without) == those
        import numpy as np  # compiled code: not for a broker that has promised less

        from regraft.model.k_connectivity import largest_k

        numbers = {name: number for number, name in enumerate(sorted(those))}
        near = {name: self._near(name, without) & those for name in numbers}
        pairs = [(numbers[one], numbers[other]) for one in near for other in near[one] if one < other]
        k = largest_k(len(numbers), np.array(pairs, dtype=np.int64).reshape(-1, 2), self.level)
        return k is None or k >= self.level


def _apart(topic: str, members: Iterable[str], lost: str, reached: set[str]) -> str:
    here = min(reached)
    return (
        f"topic {topic!r} is not connected among {_names(members)}: "
        f"no links lead from {here} to {lost} over brokers that have it"
    )


def _names(brokers: Iterable[str]) -> str:
    names = sorted(brokers)
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
