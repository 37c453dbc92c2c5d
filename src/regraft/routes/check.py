"""The independent judge of routes: sends every kind of event through the finished tables and checks the
result.

Knows only the value `Routes` and the rules for its tables (a publisher's own entries first, then the longest
prefix; an event never leaves by the cable it came in by); shares no code with the components that make
routes, not even the arithmetic of dz-expressions. The ends of all expressions that occur cut the event space
into intervals, called points here because no table and no subscription divides them. Tables are painted over
these points, shorter expressions first, and all points of a publisher travel together as arrays. So the
answer holds for every event, not for a sample.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from regraft.model.routes import Entry, Publisher, Routes

Points = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass
class Checked:
    """What the tables do. `faults` is empty exactly if every event reaches each subscriber that wants it
    once, no other subscriber, and all limits are kept."""

    flows_at: dict[str, int]
    load_at: dict[str, float]
    rate_on: NDArray[np.float64]
    cost: float = 0.0
    false_positives: float = 0.0
    longest_path: int = 0
    deliveries: float = 0.0
    path_to: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    @property
    def flows(self) -> int:
        return sum(self.flows_at.values())

    @property
    def data_rate(self) -> float:
        """Events per second, summed over all edges."""
        return float(self.rate_on.sum())


class _Line:
    """The event space as a row of points, and what each table says at each of them."""

    def __init__(self, routes: Routes) -> None:
        hosts = routes.workload
        expressions = {dz for table in routes.tables.values() for dz, _, _, _ in table}
        expressions |= {dz for publisher in hosts.publishers for dz in publisher.advertisement}
        expressions |= {dz for subscriber in hosts.subscribers for dz in subscriber.subscription}
        self.digits = max(map(len, expressions), default=0)
        ends = sorted({end for dz in expressions for end in self._ends(dz)})
        self.place = {end: place for place, end in enumerate(ends)}
        whole = 1 << self.digits
        self.volumes = np.array([(ends[i + 1] - ends[i]) / whole for i in range(len(ends) - 1)])

    def _ends(self, dz: str) -> tuple[int, int]:
        return int(dz.ljust(self.digits, "0") or "0", 2), int(dz.ljust(self.digits, "1") or "0", 2) + 1

    def span(self, dz: str) -> slice:
        low, high = self._ends(dz)
        return slice(self.place[low], self.place[high])

    def within(self, expressions: Iterable[str]) -> Flags:
        flags = np.zeros(len(self.volumes), dtype=np.bool_)
        for dz in expressions:
            flags[self.span(dz)] = True
        return flags

    def paint(self, row: Points, entries: Iterable[tuple[int, Entry]]) -> Points:
        """Point -> the entry that handles it: longer expressions are painted over shorter ones."""
        for number, entry in entries:
            row[self.span(entry.dz)] = number
        return row


class _Tables:
    """The tables by switch and publisher; entries for all publishers are painted once."""

    def __init__(self, routes: Routes, line: _Line) -> None:
        self.line = line
        self.own: dict[tuple[str, str], list[tuple[int, Entry]]] = {}
        self.base: dict[str, Points] = {}
        for switch, table in routes.tables.items():
            for_all = []
            for number, entry in sorted(enumerate(table), key=lambda item: len(item[1].dz)):
                if entry.publisher is None:
                    for_all.append((number, entry))
                else:
                    self.own.setdefault((switch, entry.publisher), []).append((number, entry))
            self.base[switch] = line.paint(np.full(len(line.volumes), -1, dtype=np.int64), for_all)

    def entries(self, switch: str, publisher: str) -> Points | None:
        """Point -> the place of its entry in the table, -1 for none; a publisher's own entries come first."""
        own, base = self.own.get((switch, publisher)), self.base.get(switch)
        return base if own is None or base is None else self.line.paint(base.copy(), own)


def check(routes: Routes, most_faults: int = 20) -> Checked:
    """Trace all events of all publishers; compare what arrives with subscriptions and limits."""
    network = routes.network
    found = Checked(
        {switch: len(routes.tables.get(switch, ())) for switch in network.switches},
        dict.fromkeys(network.switches, 0.0),
        np.zeros(len(network.edges)),
    )
    faults = _misplaced(routes)
    if not faults:
        line = _Line(routes)
        tables = _Tables(routes, line)
        wants = {one.id: line.within(one.subscription) for one in routes.workload.subscribers}
        for publisher in routes.workload.publishers:
            journey = _Journey(routes, line, tables, publisher)
            journey.run(found)
            faults += journey.wrong(wants, found)
        found.cost = float(found.rate_on @ np.array([edge.weight for edge in network.edges]))
        faults += _over_limits(routes, found)
    found.faults = faults[:most_faults]
    return found


def _misplaced(routes: Routes) -> list[str]:
    """Entries that name edges of other switches, hosts of other switches, or the same part twice."""
    faults = []
    at = {subscriber.id: subscriber.switch for subscriber in routes.workload.subscribers}
    for switch, table in routes.tables.items():
        keys = [(entry.dz, entry.publisher) for entry in table]
        if len(set(keys)) < len(keys):
            faults.append(f"{switch}: two entries for one expression")
        for entry in table:
            if any(routes.network.edges[edge].source != switch for edge in entry.out):
                faults.append(f"{switch}: the entry for {entry.dz!r} uses an edge of another switch")
            if any(at.get(host) != switch for host in entry.deliver):
                faults.append(f"{switch}: the entry for {entry.dz!r} delivers to a host that is not here")
            if len(set(entry.out)) < len(entry.out) or len(set(entry.deliver)) < len(entry.deliver):
                faults.append(f"{switch}: the entry for {entry.dz!r} sends twice to one place")
    return faults


@dataclass
class _Visit:
    """These points came to this switch over `hops` edges, the last of them `by`, from visit `before`."""

    switch: str
    points: Points
    by: int
    before: int
    hops: int


class _Journey:
    """All events of one publisher on their way: the load they cause, and the subscribers they reach."""

    def __init__(self, routes: Routes, line: _Line, tables: _Tables, publisher: Publisher) -> None:
        self.routes, self.line, self.tables, self.publisher = routes, line, tables, publisher
        self.size = len(line.volumes)
        self.advertised = line.within(publisher.advertisement)
        volume = float(line.volumes[self.advertised].sum())
        self.rates = line.volumes * (publisher.rate / volume if volume else 0.0)
        self.seen: dict[str, Flags] = {}
        self.reached: dict[str, Flags] = {}
        self.useful: list[Flags] = []
        self.visits: list[_Visit] = []
        self.faults: list[str] = []

    def run(self, found: Checked) -> None:
        queue = deque([_Visit(self.publisher.switch, np.flatnonzero(self.advertised), -1, -1, 0)])
        while queue:
            visit = queue.popleft()
            self._come(visit)
            found.load_at[visit.switch] += float(self.rates[visit.points].sum())
            for edge, points in self._leave(visit, found).items():
                found.rate_on[edge] += float(self.rates[points].sum())
                target = self.routes.network.edges[edge].target
                queue.append(_Visit(target, points, edge, len(self.visits) - 1, visit.hops + 1))
        self._count_false_positives(found)

    def _come(self, visit: _Visit) -> None:
        """Events that were here before are a fault, and are not forwarded again: a loop would never end."""
        before = self.seen.setdefault(visit.switch, np.zeros(self.size, dtype=np.bool_))
        again = before[visit.points]
        if again.any():
            self.faults.append(f"events of {self.publisher.id} come to {visit.switch} a second time")
            visit.points = visit.points[~again]
        before[visit.points] = True
        self.visits.append(visit)
        self.useful.append(np.zeros(self.size, dtype=np.bool_))

    def _leave(self, visit: _Visit, found: Checked) -> dict[int, Points]:
        """Apply the table: deliveries are noted, and the points that leave by each edge are returned."""
        entries = self.tables.entries(visit.switch, self.publisher.id)
        if entries is None:
            return {}
        edges, taken = self.routes.network.edges, entries[visit.points]
        came = edges[visit.by].cable if visit.by >= 0 else None
        leaving: dict[int, list[Points]] = {}
        for place in set(taken.tolist()) - {-1}:
            entry, points = self.routes.tables[visit.switch][place], visit.points[taken == place]
            for host in entry.deliver:
                self.useful[-1][points] = True
                self.reached.setdefault(host, np.zeros(self.size, dtype=np.bool_))[points] = True
                found.longest_path = max(found.longest_path, visit.hops)
                found.path_to[host] = max(found.path_to.get(host, 0), visit.hops)
            for edge in entry.out:
                if edges[edge].cable != came:
                    leaving.setdefault(edge, []).append(points)
        return {edge: np.concatenate(parts) for edge, parts in leaving.items()}

    def _count_false_positives(self, found: Checked) -> None:
        """Backwards over the visits: points that reached no subscriber behind an edge are false positives."""
        for number in range(len(self.visits) - 1, 0, -1):
            visit = self.visits[number]
            reached = self.useful[number][visit.points]
            self.useful[visit.before][visit.points[reached]] = True
            found.false_positives += float(self.rates[visit.points[~reached]].sum())

    def wrong(self, wants: Mapping[str, Flags], found: Checked) -> list[str]:
        """Lost and unwanted events at subscribers. An event that is delivered twice has come to the
        subscriber's switch twice, which `_come` reports."""
        faults, name = self.faults, self.publisher.id
        nothing = np.zeros(self.size, dtype=np.bool_)
        for host, wanted_of_all in wants.items():
            got, wanted = self.reached.get(host, nothing), wanted_of_all & self.advertised
            found.deliveries += float(self.rates[wanted & got].sum())
            if (wanted & ~got).any():
                faults.append(f"events of {name} do not reach {host}")
            if (got & ~wanted).any():
                faults.append(f"events of {name} reach {host}, which does not want them")
        return faults


def _over_limits(routes: Routes, found: Checked) -> list[str]:
    limits = routes.workload.limits
    faults = []
    for switch in routes.network.switches:
        flows, load = limits.flows_of(switch), limits.load_of(switch)
        if flows is not None and found.flows_at[switch] > flows:
            faults.append(f"{switch}: {found.flows_at[switch]} flows, {flows} are allowed")
        if load is not None and found.load_at[switch] > load * (1 + 1e-9):
            faults.append(f"{switch}: {found.load_at[switch]:g} events per second, {load:g} are allowed")
    for subscriber in routes.workload.subscribers:
        most = min((n for n in (limits.path_length, subscriber.path_limit) if n is not None), default=None)
        taken = found.path_to.get(subscriber.id, 0)
        if most is not None and taken > most:
            faults.append(f"{subscriber.id}: a path of {taken} edges, {most} are allowed")
    return faults
