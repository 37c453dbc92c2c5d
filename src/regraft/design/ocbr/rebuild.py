"""New trees for a search to continue from: one class's subtree is built anew, the rest is kept where it fits.

With few classes, most brokers of a tree are crossed by no traffic, and small moves lead from one tree to
another of equal cost. So the subtree of one class is built as a Steiner tree: from randomly raised prices,
from two good subtrees joined, or from a good one with random brokers added; then brokers are added and
removed until nothing saves. The old tree's links join the remaining brokers to it.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from regraft.design.ocbr.kernel_steiner import Graph, embed, improve, join, span
from regraft.design.ocbr.kernel_tree import NONE, Ints
from regraft.design.ocbr.problem import Problem
from regraft.design.ocbr.starts import rooted_pairs

FEW = 24
"""The most classes: with more of them, the subtree of one says little about the best tree."""
MOST_LINKS = 200_000
POOL = 12
"""Good subtrees that are remembered for each class."""
PRICE_NOISE = (0.05, 0.3, 1.0)
"""Shares by which prices may be raised at random."""


class Subtree(NamedTuple):
    """What a message of the class costs in it, and which brokers it uses (1) or not (0)."""

    cost: float
    used: Ints


def graph_of(problem: Problem) -> Graph | None:
    """The possible links, cheapest first; None if every pair is possible or there are very many."""
    if problem.open or len(problem.links) > MOST_LINKS:
        return None
    start, near, price = problem.possible
    size = len(problem.ids)
    here = np.repeat(np.arange(size), np.diff(start))
    once = here < near
    one, other, cost = here[once], near[once], price[once]
    order = np.argsort(cost, kind="stable")
    one, other, cost = one[order], other[order], cost[order]
    number = np.tile(np.arange(len(one)), 2)
    at = np.concatenate((one, other))
    by_broker = np.lexsort((number, at))
    rows = np.searchsorted(at[by_broker], np.arange(size + 1)).astype(np.int64)
    return Graph(one, other, cost, problem.net.broker, rows, number[by_broker].astype(np.int64))


@dataclass
class Builder:
    """Builds subtrees for the classes of a problem and remembers good ones."""

    problem: Problem
    graph: Graph
    rng: np.random.Generator
    pools: dict[int, list[Subtree]] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: Problem, rng: np.random.Generator) -> "Builder | None":
        """None if there are too many classes for this to be useful."""
        if len(problem.net.demand) > FEW:
            return None
        graph = graph_of(problem)
        return None if graph is None else cls(problem, graph, rng)

    def build(self, best: Ints) -> Ints:
        """Parents of a tree with a new subtree for one class, which is drawn by its demand."""
        members, demand = self.problem.travelling
        share = demand * np.array([len(each) for each in members])
        drawn = int(self.rng.choice(len(members), p=share / share.sum()))
        member = np.zeros(len(self.problem.ids), np.int64)
        member[members[drawn]] = 1
        subtree = self._subtree(self.pools.setdefault(drawn, []), member)
        return self.embedded(subtree, member, best)

    def embedded(self, subtree: Subtree, member: Ints, best: Ints) -> Ints:
        """Parents of the tree with the subtree, and those links of `best` that fit."""
        below = np.flatnonzero(best != NONE)
        pairs = embed(self.graph, subtree.used, member, below, best[below])
        return rooted_pairs(pairs, len(best))

    def _subtree(self, pool: list[Subtree], member: Ints) -> Subtree:
        rng = self.rng
        used = self._first(pool, member)
        cost = improve(self.graph, used, member, rng.permutation(len(member)))
        found = Subtree(cost, used)
        if all(cost != each.cost or not np.array_equal(used, each.used) for each in pool):
            pool.append(found)
            pool.sort(key=lambda each: each.cost)
            del pool[POOL:]
        return found

    def _first(self, pool: list[Subtree], member: Ints) -> Ints:
        rng = self.rng
        if len(pool) >= 4 and rng.random() < 0.8:
            one = pool[int(rng.integers(len(pool)))].used.copy()
            if rng.random() < 0.5:
                used: Ints = one | pool[int(rng.integers(len(pool)))].used
                return used
            added = rng.choice(len(one), int(rng.integers(2, 3 + len(one) // 20)))
            one[added] = 1
            cost, _ = span(self.graph, one, member, int(one.sum()), np.empty(len(one), np.int64))
            if cost < np.inf:
                return one
        price = self.graph.price
        return join(self.graph, price * rng.uniform(1.0, 1.0 + rng.choice(PRICE_NOISE), len(price)), member)
