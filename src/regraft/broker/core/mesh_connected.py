"""Whether a topic is connected among the brokers that have it, as far as the rosters tell.

A link counts when both its ends say that they have it, whether or not a connection is up: a broker that
has crashed is still part of the mesh. `level` is what was promised: 1, that a topic is connected; k, that it
is k-connected, which for k brokers or fewer means that every two of them are linked (kTCO, Definition 1).
"""

from collections.abc import Iterable

from regraft.broker.core.mesh_roster import Rosters, TopicState

Graph = dict[str, set[str]]

MOST_NAMES = 8
"""The most brokers that are named to a client."""


class TopicConnectivity:
    """The connectivity of topics, as the rosters of one broker show it."""

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

        Relays with a smaller name are left out as well. So of two relays, each of which could leave if the
        other stayed, that with the smaller name leaves first, and they do not both try in vain.
        """
        ours = self.rosters.broker
        first = {
            name
            for name, state in self._members(topic).items()
            if name < ours and state in (TopicState.RELAY, TopicState.IDLE)
        }
        return not self._is_connected(self._staying(topic) - first - {ours})

    def cut_off(self, topic: str) -> str:
        """Why what is published here would not reach every broker at which the topic is in place."""
        self._refresh()
        if topic not in self._cut_off:
            members, ours = self._members(topic), self.rosters.broker
            found = reached(self._graph({*members, ours}), ours)
            lost = {name for name, state in members.items() if state is TopicState.PLACED} - found
            self._cut_off[topic] = _apart(topic, members, ours, min(lost)) if lost else ""
        return self._cut_off[topic]

    def survives(self, topic: str, one: str, other: str) -> bool:
        """Whether the topic, if it is connected, would still be so without this link."""
        if self.lacking(topic):
            return True
        return self._is_connected(self._staying(topic), frozenset((one, other)))

    def _refresh(self) -> None:
        if self._judged_at != self.rosters.changes:
            self._judged_at = self.rosters.changes
            self._lacking.clear()
            self._cut_off.clear()

    def _members(self, topic: str) -> dict[str, TopicState]:
        overlay = self.rosters.overlay
        members = self.rosters.members.get(topic, {})
        return {name: state for name, state in members.items() if name in overlay}

    def _staying(self, topic: str) -> set[str]:
        return {name for name, state in self._members(topic).items() if state is not TopicState.LEAVING}

    def _judge(self, topic: str) -> str:
        graph = self._graph(self._staying(topic))
        if is_connected(graph, self.level):
            return ""
        first = min(graph)
        if lost := graph.keys() - reached(graph, first):
            return _apart(topic, graph, first, min(lost))
        return f"topic {topic!r} is not {self.level}-connected among {_names(graph)}"

    def _is_connected(self, those: set[str], without: frozenset[str] = frozenset()) -> bool:
        return is_connected(self._graph(those, without), self.level)

    def _graph(self, those: set[str], without: frozenset[str] = frozenset()) -> Graph:
        """The links among these brokers; `without` is a link that is left out, by its two ends."""
        entries = self.rosters.entries
        return {
            name: {
                other
                for other in entries[name].links & those
                if name in entries[other].links and {name, other} != without
            }
            for name in those
        }


def reached(graph: Graph, start: str) -> set[str]:
    found, todo = {start}, [start]
    while todo:
        new = graph[todo.pop()] - found
        found |= new
        todo.extend(new)
    return found


def is_connected(graph: Graph, level: int) -> bool:
    """Whether it takes the failure of `level` nodes, or of all but one, to part the graph.

    Computed from the definition, failure by failure: levels are 1, 2 or 3, and few brokers have a topic. (The
    compiled search in `model.k_connectivity` takes seconds to load, in which a broker would stand still.)
    """
    if len(graph) <= level:
        return all(len(near) == len(graph) - 1 for near in graph.values())
    if level == 1:
        return len(reached(graph, next(iter(graph)))) == len(graph)
    return all(
        is_connected({name: near - {gone} for name, near in graph.items() if name != gone}, level - 1)
        for gone in graph
    )


def _apart(topic: str, members: Iterable[str], one: str, other: str) -> str:
    return (
        f"topic {topic!r} is not connected among {_names(members)}: "
        f"no links lead from {one} to {other} over brokers that have it"
    )


def _names(brokers: Iterable[str]) -> str:
    names = sorted(brokers)
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
