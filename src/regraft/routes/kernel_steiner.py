"""Compiled parts of the Steiner trees: growing, bounding from below, and improving (Content routes §5.1.4).

All work on arrays: edge e goes from `sources[e]` to `targets[e]` at `costs[e]`; the edges that leave vertex
v are `leaving[first[v]:first[v + 1]]`, and `entering` likewise. An edge of cost inf cannot be used.
Trees are given as `above`: for each vertex the edge by which it is entered, -1 if it is not in the tree.
"""

import heapq

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

OUTSIDE = -1
ROOT = -2
NOTHING = 1e-9


@njit(cache=True, nogil=True)
def by_end(ends: Ints, vertices: int, allowed: Flags) -> tuple[Ints, Ints]:
    """The usable edges sorted by one of their ends, and where those of each vertex begin."""
    first = np.zeros(vertices + 1, np.int64)
    for edge in range(len(ends)):
        if allowed[edge]:
            first[ends[edge] + 1] += 1
    for vertex in range(vertices):
        first[vertex + 1] += first[vertex]
    place, order = first[:-1].copy(), np.empty(first[-1], np.int64)
    for edge in range(len(ends)):
        if allowed[edge]:
            order[place[ends[edge]]] = edge
            place[ends[edge]] += 1
    return first, order


@njit(cache=True, nogil=True)
def grow(
    sources: Ints, targets: Ints, costs: Floats, first: Ints, leaving: Ints, root: int, wanted: Flags
) -> Ints:
    """The terminal nearest to the tree is joined by its shortest path, until all are (Takahashi, Matsuyama).

    Costs at most twice the minimum if every edge has an opposite of the same cost. Terminals that cannot be
    reached stay outside.
    """
    vertices = len(first) - 1
    above = np.full(vertices, OUTSIDE, np.int64)
    distance = np.full(vertices, np.inf)
    by = np.full(vertices, OUTSIDE, np.int64)
    above[root], distance[root] = ROOT, 0.0
    heap = [(0.0, root)]
    while len(heap) > 0:
        far, vertex = heapq.heappop(heap)
        if far > distance[vertex]:
            continue
        if wanted[vertex] and above[vertex] == OUTSIDE:
            joins = vertex
            while above[joins] == OUTSIDE:  # the path becomes part of the tree: distance 0 again
                above[joins], distance[joins] = by[joins], 0.0
                heapq.heappush(heap, (0.0, joins))
                joins = sources[by[joins]]
            continue
        for place in range(first[vertex], first[vertex + 1]):
            edge = leaving[place]
            further = far + costs[edge]
            if further < distance[targets[edge]] - NOTHING:
                distance[targets[edge]], by[targets[edge]] = further, edge
                heapq.heappush(heap, (further, targets[edge]))
    return above


@njit(cache=True, nogil=True)
def weight_of(above: Ints, costs: Floats) -> float:
    total = 0.0
    for edge in above:
        if edge >= 0:
            total += costs[edge]
    return total


@njit(cache=True, nogil=True)
def prune(sources: Ints, above: Ints, wanted: Flags) -> None:
    """Drop branches that end in no terminal."""
    below = np.zeros(len(above), np.int64)
    for edge in above:
        if edge >= 0:
            below[sources[edge]] += 1
    for vertex in range(len(above)):
        leaf = vertex
        while above[leaf] >= 0 and below[leaf] == 0 and not wanted[leaf]:
            up = sources[above[leaf]]
            above[leaf] = OUTSIDE
            below[up] -= 1
            leaf = up


@njit(cache=True, nogil=True)
def dual_ascent(  # noqa: PLR0912, PLR0915  one loop; calls would pass all its arrays along
    sources: Ints, costs: Floats, first: Ints, entering: Ints, root: int, wanted: Flags
) -> tuple[float, Floats]:
    """A lower bound on any tree's cost, and the reduced costs that prove it (Wong, 1984).

    For each terminal that the root does not reach over edges of reduced cost 0, take the part of the graph
    that does reach it so: raising the dual of the cut of edges into that part, until one of them has reduced
    cost 0, raises the bound by the same amount.
    """
    vertices = len(first) - 1
    reduced, bound = costs.copy(), 0.0
    active = wanted.copy()
    active[root] = False
    size = np.zeros(vertices, np.int64)  # last known number of vertices of a terminal's part: it only grows
    inside = np.zeros(vertices, np.int64)
    part = np.empty(vertices, np.int64)
    mark = 0
    while True:
        terminal, next_size = -1, vertices + 1
        for vertex in range(vertices):
            if active[vertex]:
                if terminal < 0 or size[vertex] < size[terminal]:
                    if terminal >= 0:
                        next_size = min(next_size, size[terminal])
                    terminal = vertex
                else:
                    next_size = min(next_size, size[vertex])
        if terminal < 0:
            return bound, reduced
        mark += 1
        inside[terminal], part[0], count, head = mark, terminal, 1, 0
        reached = False
        while head < count and not reached:
            vertex = part[head]
            head += 1
            for place in range(first[vertex], first[vertex + 1]):
                edge = entering[place]
                before = sources[edge]
                if reduced[edge] <= NOTHING and inside[before] != mark:
                    inside[before], part[count] = mark, before
                    count += 1
                    reached = reached or before == root
        if reached:
            active[terminal] = False
            continue
        size[terminal] = count
        if count > next_size:
            continue
        least = np.inf
        for head in range(count):
            for place in range(first[part[head]], first[part[head] + 1]):
                edge = entering[place]
                if inside[sources[edge]] != mark:
                    least = min(least, reduced[edge])
        if least == np.inf:  # nothing enters: the terminal cannot be reached
            active[terminal] = False
            continue
        for head in range(count):
            for place in range(first[part[head]], first[part[head] + 1]):
                edge = entering[place]
                if inside[sources[edge]] != mark:
                    reduced[edge] -= least
        bound += least


@njit(cache=True, nogil=True)
def span(
    sources: Ints, targets: Ints, costs: Floats, first: Ints, leaving: Ints, root: int, chosen: Flags
) -> Ints:
    """The minimum spanning tree from the root among the chosen vertices (Prim); others stay outside."""
    vertices = len(first) - 1
    above = np.full(vertices, OUTSIDE, np.int64)
    nearest = np.full(vertices, np.inf)
    by = np.full(vertices, ROOT, np.int64)
    nearest[root] = 0.0
    heap = [(0.0, root)]
    while len(heap) > 0:
        _, vertex = heapq.heappop(heap)
        if above[vertex] != OUTSIDE:
            continue
        above[vertex] = by[vertex]
        for place in range(first[vertex], first[vertex + 1]):
            edge = leaving[place]
            after = targets[edge]
            if chosen[after] and above[after] == OUTSIDE and costs[edge] < nearest[after]:
                nearest[after], by[after] = costs[edge], edge
                heapq.heappush(heap, (costs[edge], after))
    return above


@njit(cache=True, nogil=True)
def improve(
    sources: Ints,
    targets: Ints,
    costs: Floats,
    first: Ints,
    leaving: Ints,
    root: int,
    wanted: Flags,
    above: Ints,
) -> Ints:
    """Try to add or remove every single vertex; keep the change if it makes the tree cheaper.

    Only for costs that are equal in both directions: the tree over given vertices is their minimum spanning
    tree, without the branches that end in no terminal.
    """
    vertices = len(first) - 1
    best, least = above.copy(), weight_of(above, costs)
    better = True
    while better:
        better = False
        for vertex in range(vertices):
            if wanted[vertex] or vertex == root:
                continue
            chosen = best != OUTSIDE
            if not chosen[vertex]:
                near = 0
                for place in range(first[vertex], first[vertex + 1]):
                    near += chosen[targets[leaving[place]]]
                if near < 2:
                    continue
            chosen[vertex] = not chosen[vertex]
            trial = span(sources, targets, costs, first, leaving, root, chosen)
            whole = True
            for other in range(vertices):
                if chosen[other] and trial[other] == OUTSIDE and wanted[other]:
                    whole = False
                    break
            if not whole:
                continue
            prune(sources, trial, wanted)
            weight = weight_of(trial, costs)
            if weight < least - NOTHING:
                best, least, better = trial, weight, True
    return best
