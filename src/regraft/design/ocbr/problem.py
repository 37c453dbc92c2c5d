"""OCBR in numbers (OCBR §2): brokers, possible links with prices, traffic classes.

`Problem.of` checks what the model's values cannot check by themselves: members are known brokers, the
possible links join all brokers, the tree uses possible links only. Prices are α·C_l and β·C_b.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from regraft.design.ocbr.kernel_loop import Net
from regraft.design.ocbr.kernel_tree import NONE, Floats, Ints
from regraft.model import BadInput, Broker, Ends, Link, Topology, ends
from regraft.model.traffic import Traffic, TrafficClass, check_members, merged


@dataclass(frozen=True, eq=False)
class Problem:
    """`brokers` and `links` carry C_b and C_l; without a network, `open` says that every pair is possible."""

    brokers: tuple[Broker, ...]
    links: tuple[Link, ...]
    open: bool
    traffic: Traffic
    """Each set of members occurs once."""
    alpha: float
    beta: float

    @classmethod
    def of(
        cls,
        topology: Topology | None,
        traffic: Iterable[TrafficClass],
        network: Topology | None = None,
        alpha: float = 1.0,
        beta: float = 1.0,
    ) -> "Problem":
        """The network, if there is one, says which links are possible and what everything costs."""
        for name, value in (("alpha", alpha), ("beta", beta)):
            if not (math.isfinite(value) and value >= 0):
                raise BadInput(name, f"must be a finite number at least 0, not {value}")
        stated = network or topology
        if stated is None:
            raise BadInput("topology", "a tree to start from or a network of possible links is needed")
        classes = tuple(traffic)
        check_members(classes, stated.ids)
        problem = cls(stated.brokers, stated.links, network is None, merged(classes), alpha, beta)
        if network is not None:
            _check_network(problem, topology)
        return problem

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return tuple(broker.id for broker in self.brokers)

    @cached_property
    def number(self) -> dict[str, int]:
        return {id: place for place, id in enumerate(self.ids)}

    @cached_property
    def link_cost(self) -> dict[Ends, float]:
        return {link.ends: link.cost for link in self.links}

    @cached_property
    def by_ends(self) -> dict[Ends, Link]:
        return {link.ends: link for link in self.links}

    @cached_property
    def travelling(self) -> tuple[list[Ints], Floats]:
        """Member numbers and demands of the classes with more than one member: the others cross no link."""
        pairs = [each for each in self.traffic if len(each.members) > 1]
        number = self.number
        members = [np.sort(np.array([number[id] for id in each.members], np.int64)) for each in pairs]
        return members, np.array([each.demand for each in pairs], np.float64)

    @cached_property
    def net(self) -> Net:
        """The arrays that the compiled functions read."""
        size = len(self.ids)
        start, near, price = self.possible
        members, demand = self.travelling
        sizes = np.array([len(each) for each in members], np.int64)
        flat = np.concatenate(members) if members else np.empty(0, np.int64)
        order = np.argsort(flat, kind="stable")
        at = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)[order]
        at_start = np.searchsorted(flat[order], np.arange(size + 1)).astype(np.int64)
        broker = self.beta * np.array([each.cost for each in self.brokers], np.float64)
        other = self.alpha * Link(("", "")).cost if self.open else math.inf
        return Net(start, near, price, other, broker, at_start, at, sizes, demand)

    @cached_property
    def possible(self) -> tuple[Ints, Ints, Floats]:
        """The stated links of each broker, in order: rows, neighbours, prices."""
        size, number = len(self.ids), self.number
        one = np.array([number[link.ends[0]] for link in self.links], np.int64)
        other = np.array([number[link.ends[1]] for link in self.links], np.int64)
        cost = self.alpha * np.array([link.cost for link in self.links], np.float64)
        rows, columns = np.concatenate((one, other)), np.concatenate((other, one))
        order = np.lexsort((columns, rows))
        start = np.searchsorted(rows[order], np.arange(size + 1)).astype(np.int64)
        return start, columns[order], np.concatenate((cost, cost))[order]

    def parents(self, links: Iterable[Ends]) -> Ints:
        """The parents of the tree with these links, rooted at broker 0."""
        number = self.number
        around: list[list[int]] = [[] for _ in self.ids]
        for one, other in links:
            around[number[one]].append(number[other])
            around[number[other]].append(number[one])
        parent = np.full(len(self.ids), NONE, np.int64)
        waiting = [0]
        while waiting:
            b = waiting.pop()
            for near in around[b]:
                if near != parent[b]:
                    parent[near] = b
                    waiting.append(near)
        return parent

    def pairs(self, parent: Ints) -> list[Ends]:
        """The links of the tree with these parents, by name."""
        ids = self.ids
        return [ends(ids[b], ids[above]) for b, above in enumerate(parent.tolist()) if above != NONE]

    def topology(self, parent: Ints) -> Topology:
        """The tree as a topology, with what the problem knows about brokers and links."""
        links = tuple(self.by_ends.get(pair) or Link(pair) for pair in sorted(self.pairs(parent)))
        return Topology(self.brokers, links)


def _check_network(problem: Problem, topology: Topology | None) -> None:
    size = len(problem.ids)
    if not size:
        raise BadInput("network", "there must be at least one broker")
    start, near, _ = problem.possible
    matrix = scipy.sparse.csr_array((np.ones(len(near)), near, start), (size, size))
    parts, label = connected_components(matrix, directed=False)
    if parts > 1:
        apart = problem.ids[int(np.flatnonzero(label != label[0])[0])]
        rule = f"the possible links do not join all brokers: no path from {problem.ids[0]!r} to {apart!r}"
        raise BadInput("network", rule)
    if topology is None:
        return
    if unknown := sorted(set(topology.ids) - set(problem.ids)):
        raise BadInput("network", f"broker {unknown[0]!r} of the topology is not in it")
    if unknown := sorted(set(problem.ids) - set(topology.ids)):
        raise BadInput("network", f"broker {unknown[0]!r} is not in the topology")
    for pair in topology.by_ends:
        if pair not in problem.link_cost:
            rule = f"the topology's link {pair[0]!r} - {pair[1]!r} is not among the possible links"
            raise BadInput("network", rule)
