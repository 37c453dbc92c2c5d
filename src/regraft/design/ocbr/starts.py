"""Trees to start a search from, and links worth trying in it."""

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import breadth_first_order, dijkstra, minimum_spanning_tree

from regraft.design.ocbr.kernel_search import Offers
from regraft.design.ocbr.kernel_tree import NONE, Floats, Ints
from regraft.design.ocbr.problem import Problem

CHEAP, ALIKE = 10, 10
"""Offers for each broker: its cheapest links, and links to brokers it shares most demand with."""
LARGE_CLASS = 60
"""In a class with more members, only neighbours in a ring count as sharing demand, not all pairs."""
CENTRES = 3


def starts(problem: Problem) -> dict[str, Ints]:
    """Named trees: the cheapest links, and the shortest paths from the brokers nearest to all demand."""
    if problem.open:
        return {f"star at {problem.ids[hub]}": star(problem, int(hub)) for hub in centres(problem)}
    matrix = price_matrix(problem)
    found = {"cheapest links": rooted(minimum_spanning_tree(matrix), len(problem.ids))}
    for hub in centres(problem):
        _, before = dijkstra(matrix, directed=False, indices=int(hub), return_predecessors=True)
        found[f"shortest paths from {problem.ids[hub]}"] = rerooted(np.where(before < 0, NONE, before))
    return found


def price_matrix(problem: Problem) -> scipy.sparse.csr_array:
    """What a message pays on each stated link, half of both brokers included.

    A tiny price stands for 0, which scipy would take for a missing link.
    """
    start, near, price = problem.possible
    size = len(problem.ids)
    broker = problem.net.broker
    here = np.repeat(np.arange(size), np.diff(start))
    paid = price + (broker[here] + broker[near]) / 2
    return scipy.sparse.csr_array((np.maximum(paid, 1e-12), near, start), (size, size))


def centres(problem: Problem) -> Ints:
    """The brokers that are nearest to the demand at all brokers."""
    net, size = problem.net, len(problem.ids)
    load = np.array(
        [net.demand[net.at[net.at_start[b] : net.at_start[b + 1]]].sum() for b in range(size)], np.float64
    )
    if problem.open:  # the cost of a star with this hub, without what all stars pay
        paid = net.broker * (net.demand.sum() - load) - net.other * load
        return np.argsort(paid, kind="stable")[:CENTRES]
    matrix = price_matrix(problem)
    tried = np.unique(np.linspace(0, size - 1, min(size, 200)).astype(np.int64))
    far = dijkstra(matrix, directed=False, indices=tried)
    return tried[np.argsort(far @ load, kind="stable")[:CENTRES]]


def star(problem: Problem, hub: int) -> Ints:
    parent = np.full(len(problem.ids), hub, np.int64)
    parent[hub] = NONE
    return rerooted(parent)


def rooted(matrix: scipy.sparse.csr_array, size: int) -> Ints:
    """The parents of a spanning tree, given as a matrix, rooted at broker 0."""
    _, before = breadth_first_order(matrix, 0, directed=False)
    parent: Ints = np.where(before < 0, NONE, before).astype(np.int64)
    return parent[:size]


def rooted_pairs(pairs: Ints, size: int) -> Ints:
    """The parents of a spanning tree, given as pairs of brokers, rooted at broker 0."""
    links = (np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1]))
    return rooted(scipy.sparse.coo_array(links, (size, size)).tocsr(), size)


def rerooted(parent: Ints) -> Ints:
    """The same tree rooted at broker 0: the links from there to the old root change direction."""
    above_each = parent.astype(np.int64)
    b, above = 0, NONE
    while b != NONE:
        above_each[b], above, b = above, b, int(above_each[b])
    return above_each


def offers(problem: Problem) -> Offers:
    """For each broker, the links that a search tries most often."""
    size = len(problem.ids)
    start, near, price = problem.possible
    affinity = shared_demand(problem)
    chosen: list[Ints] = []
    for b in range(size):
        stated, cost = near[start[b] : start[b + 1]], price[start[b] : start[b + 1]]
        row = slice(affinity.indptr[b], affinity.indptr[b + 1])
        alike, shared = affinity.indices[row].astype(np.int64), affinity.data[row]
        if not problem.open:
            possible = np.isin(alike, stated)
            alike, shared = alike[possible], shared[possible]
        cheapest = stated[_lowest(cost, CHEAP)]
        chosen.append(np.union1d(cheapest, alike[_lowest(-shared, ALIKE)]))
    counts = np.array([len(each) for each in chosen], np.int64)
    to = np.concatenate(chosen).astype(np.int64) if size else np.empty(0, np.int64)
    return Offers(np.concatenate(([0], np.cumsum(counts))).astype(np.int64), to)


def _lowest(values: Floats, most: int) -> Ints:
    if len(values) <= most:
        return np.arange(len(values), dtype=np.int64)
    return np.argpartition(values, most)[:most].astype(np.int64)


def shared_demand(problem: Problem) -> scipy.sparse.csr_array:
    """The demand that each two brokers share."""
    size = len(problem.ids)
    rows, columns, values = [], [], []
    members, demand = problem.travelling
    for numbers, d in zip(members, demand, strict=True):
        if len(numbers) <= LARGE_CLASS:
            one, other = np.triu_indices(len(numbers), 1)
            rows.append(numbers[one])
            columns.append(numbers[other])
            values.append(np.full(len(one), d / (len(numbers) - 1)))
        else:
            rows.append(numbers)
            columns.append(np.roll(numbers, 1))
            values.append(np.full(len(numbers), d / len(numbers)))
    if not rows:
        return scipy.sparse.csr_array((size, size))
    pairs = (np.concatenate(rows), np.concatenate(columns))
    matrix = scipy.sparse.coo_array((np.concatenate(values), pairs), (size, size)).tocsr()
    return (matrix + matrix.T).tocsr()
