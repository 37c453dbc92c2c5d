"""The problem in numbers: switches, edges, publishers and subscribers by their places (Content routes §4).

Components see a `Graph` (the whole network or a sub graph, with the current weights) and `Demand`s. A sub
graph keeps the numbers of the network: only `allowed` differs, so results need no translation.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regraft.filters.dz import DzSet
from regraft.model.routes import RouteWorkload
from regraft.model.switch_network import SwitchNetwork
from regraft.routes.atoms import EventMasks, event_masks

Path = tuple[int, ...]
"""Edge numbers, in order from the publisher's switch to the subscriber's; empty on one switch."""

Cycle = frozenset[int]
"""Edges that may not all be used together."""


@dataclass(frozen=True, eq=False)
class Graph:
    """G(V, E) with weights: edge e goes from `sources[e]` to `targets[e]` over the cable `cables[e]`."""

    vertices: int
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    cables: NDArray[np.int64]
    weights: NDArray[np.float64]
    allowed: NDArray[np.bool_]

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """The numbers of the edges that may be used."""
        return np.flatnonzero(self.allowed)

    @cached_property
    def source_list(self) -> list[int]:
        """`sources` as a list, because loops in Python are slow on arrays; the other lists likewise."""
        return list(map(int, self.sources))

    @cached_property
    def target_list(self) -> list[int]:
        return list(map(int, self.targets))

    @cached_property
    def cable_list(self) -> list[int]:
        return list(map(int, self.cables))

    @cached_property
    def opposite(self) -> list[int]:
        """Edge -> the usable edge back over the same cable, -1 if there is none."""
        at = {(self.target_list[edge], self.cable_list[edge]): edge for edge in self.edges.tolist()}
        return [at.get(key, -1) for key in zip(self.source_list, self.cable_list, strict=True)]

    @cached_property
    def weight_list(self) -> list[float]:
        return list(map(float, self.weights))

    @cached_property
    def leaving(self) -> tuple[tuple[int, ...], ...]:
        """Vertex -> usable edges that leave it."""
        leaving: list[list[int]] = [[] for _ in range(self.vertices)]
        for edge in self.edges.tolist():
            leaving[self.sources[edge]].append(edge)
        return tuple(map(tuple, leaving))

    @cached_property
    def entering(self) -> tuple[tuple[int, ...], ...]:
        """Vertex -> usable edges that enter it."""
        entering: list[list[int]] = [[] for _ in range(self.vertices)]
        for edge in self.edges.tolist():
            entering[self.targets[edge]].append(edge)
        return tuple(map(tuple, entering))

    def __getstate__(self) -> dict[str, Any]:
        """Only usable edges are sent to other processes; `__setstate__` fills the places of the others."""
        kept = {name: getattr(self, name)[self.edges] for name in ("sources", "targets", "cables", "weights")}
        return {"vertices": self.vertices, "size": len(self.sources), "edges": self.edges, **kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        edges = state["edges"]
        self.__dict__.update(vertices=state["vertices"], allowed=np.zeros(state["size"], dtype=np.bool_))
        self.allowed[edges] = True
        for name in ("sources", "targets", "cables", "weights"):
            self.__dict__[name] = np.full(state["size"], -1 if name == "cables" else 0, state[name].dtype)
            self.__dict__[name][edges] = state[name]

    def weigh(self, edges: Iterable[int]) -> float:
        """Σ c_ij y_ij (5.3) of these edges."""
        return float(sum(self.weights[edge] for edge in edges))

    def with_weights(self, weights: NDArray[np.float64]) -> "Graph":
        return replace(self, weights=weights)

    def only(self, edges: Iterable[int]) -> "Graph":
        """The sub graph of these edges."""
        allowed = np.zeros(len(self.sources), dtype=np.bool_)
        allowed[np.fromiter(edges, dtype=np.int64)] = True
        return replace(self, allowed=allowed & self.allowed)

    def among(self, vertices: Iterable[int]) -> "Graph":
        """The sub graph of these vertices and all usable edges between them."""
        inside = np.zeros(self.vertices, dtype=np.bool_)
        inside[np.fromiter(vertices, dtype=np.int64)] = True
        return replace(self, allowed=self.allowed & inside[self.sources] & inside[self.targets])

    def with_links(self, links: Sequence[tuple[int, int, float]]) -> "Graph":
        """Further cables with these ends and weights: two edges each, numbered after all others."""
        if not links:
            return self
        ends = np.array([link[:2] for link in links], dtype=np.int64)
        first = int(self.cables.max(initial=-1)) + 1
        count = 2 * len(links)
        return Graph(
            self.vertices,
            np.concatenate((self.sources, ends.reshape(-1))),
            np.concatenate((self.targets, ends[:, ::-1].reshape(-1))),
            np.concatenate((self.cables, np.repeat(np.arange(first, first + len(links)), 2))),
            np.concatenate((self.weights, np.repeat([link[2] for link in links], 2))),
            np.concatenate((self.allowed, np.ones(count, dtype=np.bool_))),
        )


def graph_of(network: SwitchNetwork) -> Graph:
    number = network.number
    names: dict[str, int] = {}
    for edge in network.edges:
        names.setdefault(edge.cable, len(names))
    return Graph(
        len(network.switches),
        np.array([number[edge.source] for edge in network.edges], dtype=np.int64),
        np.array([number[edge.target] for edge in network.edges], dtype=np.int64),
        np.array([names[edge.cable] for edge in network.edges], dtype=np.int64),
        np.array([edge.weight for edge in network.edges], dtype=np.float64),
        np.ones(len(network.edges), dtype=np.bool_),
    )


class Demand(NamedTuple):
    """One tree to be found: from the root switches of publishers to the switches of `terminals`.

    With `matching` "publisher" there is one root; with "filter" the tree is shared and may have several.
    `rate` is the events per second of all roots. `hops[i]` is the most edges of a path to `terminals[i]`.
    """

    roots: tuple[int, ...]
    terminals: tuple[int, ...]
    rate: float = 1.0
    hops: tuple[int | None, ...] = ()
    rates: tuple[float, ...] = ()
    """The rate of each root, if there are several."""

    def hops_to(self, place: int) -> int | None:
        return self.hops[place] if self.hops else None


class Content(NamedTuple):
    """What a demand carries: events of these publishers (their places) in this region."""

    publishers: tuple[int, ...]
    region: DzSet
    own: bool = False
    """Whether the tables match on the publisher too; there is only one then."""


@dataclass(frozen=True)
class Problem:
    """A network and a workload, compiled; `advertised[p]` and `subscribed[s]` are least sets."""

    network: SwitchNetwork
    workload: RouteWorkload
    graph: Graph
    publisher_at: tuple[int, ...]
    subscriber_at: tuple[int, ...]
    rates: tuple[float, ...]
    advertised: tuple[DzSet, ...]
    subscribed: tuple[DzSet, ...]

    @cached_property
    def masks(self) -> EventMasks:
        """Advertisements and subscriptions as integers: set operations on thousands of them are fast."""
        return event_masks(self.advertised, self.subscribed, self.subscriber_at, self.graph.vertices)

    def rate_of(self, publisher: int, part: DzSet) -> float:
        """λ_p · part ∩ p^Pub (4.2), with events spread evenly over the advertisement."""
        whole = self.advertised[publisher]
        return self.rates[publisher] * (whole & part).volume / whole.volume if whole.expressions else 0.0

    def interested(self, region: DzSet) -> list[int]:
        """The subscribers that want events of the region."""
        return self._overlapping(region, self.subscribed, self.masks.subscribed)

    def publishing(self, region: DzSet) -> tuple[int, ...]:
        """The publishers that advertise events of the region."""
        return tuple(self._overlapping(region, self.advertised, self.masks.advertised))

    def _overlapping(self, region: DzSet, parts: Sequence[DzSet], masks: Sequence[int]) -> list[int]:
        atoms = self.masks.atoms
        if not atoms.divides(region):
            return [each for each, part in enumerate(parts) if part.overlaps(region)]
        mask = atoms.mask(region)
        return [each for each, part in enumerate(masks) if part & mask]

    def hop_limit(self, subscriber: int) -> int | None:
        own, general = self.workload.subscribers[subscriber].path_limit, self.workload.limits.path_length
        return min((limit for limit in (own, general) if limit is not None), default=None)


def problem_of(network: SwitchNetwork, workload: RouteWorkload, graph: Graph | None = None) -> Problem:
    """The problem with numbers instead of names; `graph` is the network's, if it was made already."""
    workload.check_within(network)
    number = network.number
    return Problem(
        network,
        workload,
        graph_of(network) if graph is None else graph,
        tuple(number[publisher.switch] for publisher in workload.publishers),
        tuple(number[subscriber.switch] for subscriber in workload.subscribers),
        tuple(publisher.rate for publisher in workload.publishers),
        tuple(DzSet(publisher.advertisement) for publisher in workload.publishers),
        tuple(DzSet(subscriber.subscription) for subscriber in workload.subscribers),
    )


def demand_of(problem: Problem, content: Content) -> Demand:
    """The tree that a content needs: from its publishers' switches to those of all interested subscribers."""
    limits: dict[int, int | None] = {}
    for subscriber in problem.interested(content.region):
        at, limit = problem.subscriber_at[subscriber], problem.hop_limit(subscriber)
        known = [each for each in (limits.get(at), limit) if each is not None]
        limits[at] = min(known, default=None)
    terminals = tuple(sorted(limits))
    rates: dict[int, float] = {}
    for publisher in content.publishers:
        at = problem.publisher_at[publisher]
        rates[at] = rates.get(at, 0.0) + problem.rate_of(publisher, content.region)
    roots = tuple(sorted(rates))
    return Demand(
        roots,
        terminals,
        sum(rates.values()),
        tuple(limits[at] for at in terminals),
        tuple(rates[at] for at in roots),
    )
