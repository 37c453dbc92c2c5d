"""OCBR's cost function (1) and a master's local view of the traffic (OCBR §2, §3.1).

The sums over subtrees are those of `model.spans`, which `evaluate` uses too; the search prices its moves
with code of its own (`kernel_loop`, `kernel_region`), so the two check each other.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from regraft.design.ocbr.kernel_tree import Ints
from regraft.design.ocbr.problem import Problem
from regraft.model import Ends, Topology, ends
from regraft.model.spans import Spans
from regraft.model.traffic import Traffic, TrafficClass, merged
from regraft.model.tree_index import TreeIndex


class Cost(NamedTuple):
    """`total` is (1); `links` and `brokers` are its two sums before α and β."""

    total: float
    links: float
    brokers: float


def cost_of(problem: Problem, parent: Ints) -> Cost:
    """The cost of the tree with these parents."""
    topology = problem.topology(parent)
    index = TreeIndex.of(topology)
    spans = Spans.of(index, problem.traffic)
    links = float(np.dot(spans.weights(index.link_costs(topology)), spans.demand))
    brokers = float(np.dot(spans.broker_weights(index.broker_costs(topology)), spans.demand))
    return Cost(problem.alpha * links + problem.beta * brokers, links, brokers)


def link_loads(problem: Problem, parent: Ints) -> dict[Ends, float]:
    """The demand that crosses each link."""
    index = TreeIndex.of(problem.topology(parent))
    loads = Spans.of(index, problem.traffic).link_loads()
    ids = index.ids
    return {ends(ids[p], ids[int(index.parent[p])]): float(loads[p]) for p in range(1, len(ids))}


def local_view(tree: Topology, traffic: Iterable[TrafficClass], master: str) -> Traffic:
    """What `master` sees of the traffic: members become the neighbour they lie behind, equal classes merge.

    Classes that lie behind one neighbour alone cannot be improved here and are left out.
    """
    behind = {master: master}
    for neighbour in tree.neighbours[master]:
        behind[neighbour] = neighbour
        waiting = [neighbour]
        while waiting:
            for near in tree.neighbours[waiting.pop()]:
                if near not in behind:
                    behind[near] = neighbour
                    waiting.append(near)
    seen = (
        TrafficClass(frozenset(behind[member] for member in members), demand) for members, demand in traffic
    )
    return merged(each for each in seen if len(each.members) > 1)
