"""Filters that need few flows: wider inside the network, exact at the subscribers (Content routes §5.2.1).

The program (5.59)–(5.63) minimises the flows of all switches; the filter to a subscriber is fixed (5.61),
those before it may hold more (5.62). A wider filter changes only two tables, where its edge begins and where
it ends, because what leaves the end stays as it is. So each edge in turn, starting at the publishers, takes
the filter that makes these two tables smallest, until no edge gains. Unwanted events are dropped one switch
later than possible. The flows of a switch with a low limit (5.60) count more.
"""

from collections.abc import Mapping

from regraft.filters.dz import DzSet
from regraft.model import Infeasible
from regraft.routes.embedding import Embedded, embedded, neighbours
from regraft.routes.interface import Tree
from regraft.routes.least_table import least_table
from regraft.routes.problem import Content, Problem
from regraft.routes.settings import RouteSettings

MOST_TURNS = 4
WHOLE = DzSet(("",))


def embed_few(problem: Problem, content: Content, tree: Tree, settings: RouteSettings) -> Mapping[int, DzSet]:
    """Filters that need at most as many flows as exact ones; exact where wider ones save none."""
    wider = _WiderFilters(problem, content, tree, embedded(problem, content, tree))
    wider.widen()
    atoms = wider.exact.events.atoms
    return {edge: atoms.part(mask) for edge, mask in wider.filters.items()}


class _WiderFilters:
    """The filters while they grow, and how many flows each switch needs with them."""

    def __init__(self, problem: Problem, content: Content, tree: Tree, exact: Embedded) -> None:
        self.problem, self.content, self.exact = problem, content, exact
        self.filters = dict(exact.filters)
        self.after, self.before = neighbours(problem.graph, tree)
        self.says: dict[int, int] = {}
        for publisher in content.publishers:
            at = problem.publisher_at[publisher]
            self.says[at] = self.says.get(at, 0) | exact.events.advertised[publisher] & exact.region
        self.ports: dict[int, list[tuple[int, int]]] = {}
        wanted = zip(problem.subscriber_at, exact.events.subscribed, strict=True)
        for name, (at, mask) in enumerate(
            wanted, start=1
        ):  # ports of subscribers are negative, edges are not
            if mask & exact.region:
                self.ports.setdefault(at, []).append((mask & exact.region, -name))
        self.leaving: dict[int, list[int]] = {}
        self.entering: dict[int, list[int]] = {}
        for edge in sorted(tree):
            self.leaving.setdefault(problem.graph.source_list[edge], []).append(edge)
            self.entering.setdefault(problem.graph.target_list[edge], []).append(edge)
        self.sizes: dict[frozenset[tuple[int, frozenset[int]]], int] = {}

    def widen(self) -> None:
        for _ in range(MOST_TURNS):
            gained = [self._widened(edge) for edge in self._outwards()]
            if not any(gained):
                return

    def _outwards(self) -> list[int]:
        """The edges in an order in which each comes after all edges before it in the tree."""
        waiting = {edge: len(found) for edge, found in self.before.items()}
        order = [edge for edge, count in waiting.items() if not count]
        for edge in order:
            for following in self.after[edge]:
                waiting[following] -= 1
                if not waiting[following]:
                    order.append(following)
        return order

    def _widened(self, edge: int) -> bool:
        now = self.filters[edge]
        graph = self.problem.graph
        source, target = graph.source_list[edge], graph.target_list[edge]
        coming = self.says.get(source, 0)
        for earlier in self.before[edge]:
            coming |= self.filters[earlier]
        hull = (1 << now.bit_length()) - (now & -now) if now else 0
        best, least = now, self._cost(source, target)
        for wide in (coming & hull, coming):  # the narrower one first: it is kept if both save as much
            self.filters[edge] = wide | now
            if (cost := self._cost(source, target)) < least:
                best, least = wide | now, cost
        self.filters[edge] = best
        return best != now

    def _cost(self, *vertices: int) -> float:
        return sum(self._flows(vertex) * self._weight(vertex) for vertex in vertices)

    def _weight(self, vertex: int) -> float:
        limit = self.problem.workload.limits.flows_of(self.problem.network.switches[vertex])
        return 1.0 if limit is None else 1.0 + 1000.0 / max(limit, 1)

    def _flows(self, vertex: int) -> int:
        """The size of the smallest table for the events that come to the vertex."""
        coming = self.says.get(vertex, 0)
        for edge in self.entering.get(vertex, ()):
            coming |= self.filters[edge]
        ports = self.ports.get(vertex, []) + [(self.filters[e], e) for e in self.leaving.get(vertex, ())]
        cases = frozenset((mask, action) for action, mask in _split(coming, ports).items() if action)
        if cases not in self.sizes:
            part = self.exact.events.atoms.part
            self.sizes[cases] = len(least_table([(part(mask), action) for mask, action in cases]))
        return self.sizes[cases]


def _split(coming: int, ports: list[tuple[int, int]]) -> dict[frozenset[int], int]:
    """Set of ports -> the events that leave by exactly these ports."""
    parts = {frozenset[int](): coming}
    for mask, port in ports:
        following: dict[frozenset[int], int] = {}
        for action, part in parts.items():
            if part & mask:
                following[action | {port}] = following.get(action | {port}, 0) | part & mask
            if part & ~mask:
                following[action] = following.get(action, 0) | part & ~mask
        parts = following
    return parts


def flow_conflict(problem: Problem) -> Infeasible | None:
    """A switch whose flow limit no tables can keep, because of its own subscribers alone.

    Whatever the routes and whatever else passes the switch: to deliver the events of a publisher to the right
    ones of its subscribers, it needs at least this many flows.
    """
    events, limits = problem.masks, problem.workload.limits
    hosts: dict[int, list[tuple[int, int]]] = {}
    for name, (at, mask) in enumerate(zip(problem.subscriber_at, events.subscribed, strict=True), start=1):
        hosts.setdefault(at, []).append((mask, -name))
    for vertex, ports in sorted(hosts.items()):
        switch = problem.network.switches[vertex]
        if (limit := limits.flows_of(switch)) is None:
            continue
        for publisher, advertised in enumerate(events.advertised):
            parts = _split(advertised, ports).items()
            cases = [(events.atoms.part(mask), action) for action, mask in parts if action]
            least = len(least_table(cases, WHOLE))
            if least > limit:
                return Infeasible(
                    f"switch {switch} needs at least {least} flows to deliver the events of "
                    f"{problem.workload.publishers[publisher].id}, {limit} are allowed",
                    limit="flows",
                    where=switch,
                    proven=True,
                )
    return None
