"""Content routes as values: who publishes and subscribes, what limits hold, and the tables that result.

`routes` makes a `Routes`, `flows` turns it into OpenFlow rules; neither knows the other. dz-expressions
are plain text here (`regraft.filters.dz` knows what they mean): a prefix names the larger part of the
event space, the empty text all of it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal, NamedTuple

from regraft.model.errors import BadInput
from regraft.model.switch_network import SwitchNetwork

Matching = Literal["publisher", "filter"]
"""What a table entry looks at: the publisher and the dz-expression, or the dz-expression alone."""

DZ_LENGTH = 112
"""The most digits by default (4.32): an IPv6 multicast address without its first 16 bits."""


class Publisher(NamedTuple):
    """p ∈ P: its switch, the events per second that it makes (λ_p), and p^Pub as dz-expressions."""

    id: str
    switch: str
    rate: float
    advertisement: tuple[str, ...]


class Subscriber(NamedTuple):
    """s ∈ S: its switch, s^Sub as dz-expressions, and the most edges a path to it may have."""

    id: str
    switch: str
    subscription: tuple[str, ...]
    path_limit: int | None = None


@dataclass(frozen=True)
class RouteLimits:
    """Most edges of a path (n of (4.1)), most entries per switch (5.60), most events per second (4.40).

    `flows_at` and `load_at` hold for single switches, in place of the general limit.
    """

    path_length: int | None = None
    flows: int | None = None
    load: float | None = None
    flows_at: Mapping[str, int] = field(default_factory=dict)
    load_at: Mapping[str, float] = field(default_factory=dict)

    def flows_of(self, switch: str) -> int | None:
        return self.flows_at.get(switch, self.flows)

    def load_of(self, switch: str) -> float | None:
        return self.load_at.get(switch, self.load)


@dataclass(frozen=True)
class RouteWorkload:
    """Publishers, subscribers and limits. Ids are unique over both kinds: each is one host."""

    publishers: tuple[Publisher, ...]
    subscribers: tuple[Subscriber, ...]
    limits: RouteLimits = RouteLimits()
    dz_length: int = DZ_LENGTH

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for where, host in self._hosts():
            if host.id in seen:
                raise BadInput(where, f"the id {host.id!r} is given twice")
            seen.add(host.id)
        for place, publisher in enumerate(self.publishers):
            if not isfinite(publisher.rate) or publisher.rate < 0:
                raise BadInput(f"publishers[{place}].rate", f"must be at least 0, not {publisher.rate:g}")
            _check_dz(publisher.advertisement, self.dz_length, f"publishers[{place}].advertisement")
        for place, subscriber in enumerate(self.subscribers):
            _check_dz(subscriber.subscription, self.dz_length, f"subscribers[{place}].subscription")

    def check_within(self, network: SwitchNetwork) -> None:
        """Every host is at a switch that exists, and limits are given for switches that exist."""
        for place, host in self._hosts():
            if host.switch not in network.number:
                raise BadInput(f"{place}.switch", f"unknown switch id {host.switch!r}")
        for switch in (*self.limits.flows_at, *self.limits.load_at):
            if switch not in network.number:
                raise BadInput("limits", f"unknown switch id {switch!r}")

    def _hosts(self) -> Iterator[tuple[str, Publisher | Subscriber]]:
        for place, publisher in enumerate(self.publishers):
            yield f"publishers[{place}]", publisher
        for place, subscriber in enumerate(self.subscribers):
            yield f"subscribers[{place}]", subscriber


class Entry(NamedTuple):
    """One line of a switch's table: events of this part of the space leave by these edges.

    `publisher` is None where events of every publisher are meant. `out` are edge numbers of the network,
    all leaving this switch; `deliver` are subscribers attached to it. Both empty: the event is dropped.
    """

    dz: str
    publisher: str | None
    out: tuple[int, ...]
    deliver: tuple[str, ...]


class RouteTree(NamedTuple):
    """The edges that events of a part of the space take from these publishers to their subscribers."""

    publishers: tuple[str, ...]
    region: tuple[str, ...]
    edges: frozenset[int]


class RouteFigures(NamedTuple):
    """How good routes are. `data_rate` is the events per second, summed over all edges.

    `cost` is the same sum with weights; `lower_bound` is proven for `cost`, whatever the tables look like.
    `false_positives` are events per second that cross an edge behind which no subscriber wants them.
    """

    flows: int
    data_rate: float
    cost: float
    lower_bound: float
    false_positives: float
    longest_path: int

    @property
    def gap(self) -> float:
        """At most this share of the cost could be saved."""
        return 0.0 if self.cost <= 0 else max(0.0, 1.0 - self.lower_bound / self.cost)


@dataclass(frozen=True)
class Routes:
    """The tables of all switches, and what they were made from.

    At a switch an event of publisher p is handled by the entry for p with the longest `dz` that is a prefix
    of the event's; if there is none, by the one for every publisher with the longest such `dz`. It leaves
    by every edge of `out` except the cable by which it came in, and goes to every subscriber of `deliver`.
    Without such an entry it is dropped.
    """

    network: SwitchNetwork
    workload: RouteWorkload
    matching: Matching
    tables: Mapping[str, tuple[Entry, ...]]
    trees: tuple[RouteTree, ...] = ()
    figures: RouteFigures | None = None
    initial: RouteFigures | None = None
    """The figures of plain shortest-path trees for the same workload."""
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def flows(self) -> int:
        return sum(map(len, self.tables.values()))


def _check_dz(expressions: Iterable[str], longest: int, place: str) -> None:
    for dz in expressions:
        if dz.strip("01"):
            raise BadInput(place, f"{dz!r} has digits other than 0 and 1")
        if len(dz) > longest:
            raise BadInput(place, f"{dz!r} has {len(dz)} digits, the address block has {longest}")
