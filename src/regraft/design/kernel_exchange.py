"""Compiled: links are exchanged for others, and every exchange that makes a link redundant saves one.

A node a has a link to x that x can spare; only the topics in which a needs x stand against removing it.
Another node y that wants those topics takes the place of x, preferably one that has itself a link to some
z, needed only for topics that a wants: then the link a-y replaces both. Exchanges one for one are taken too
if the new link serves as many topics (now and then if not): links that serve more leave more to spare.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from regraft.design.kernel_mesh import Mesh, add, are_linked, drop, removable, spared
from regraft.design.matrix import Ints, Matrix, Pairs

Prices = npt.NDArray[np.float64]
State = npt.NDArray[np.uint64]
LOOK = 48
"""How many nodes are tried to take the place of another."""
ANYWAY = 16
"""One in this many exchanges is accepted although the new link serves fewer topics."""


@njit(cache=True, nogil=True)
def draw(state: State, below: int) -> int:
    """A random number (xorshift): the state is an argument, so one seed gives one course of events."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return np.int64((x >> np.uint64(11)) % np.uint64(below))  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def needed_for(matrix: Matrix, mesh: Mesh, a: int, x: int, topics: Ints) -> int:
    """Write the topics in which a needs its link to x; returns how many."""
    count = 0
    for at in range(matrix.node_start[a], matrix.node_start[a + 1]):
        t = matrix.node_topics[at]
        if mesh.wants[t, x] and mesh.within[matrix.node_slots[at]] <= mesh.need[t]:
            topics[count] = t
            count += 1
    return count


@njit(cache=True, nogil=True)
def wants_all(mesh: Mesh, y: int, topics: Ints, count: int) -> bool:
    for place in range(count):  # noqa: SIM110 (no generators in compiled code)
        if not mesh.wants[topics[place], y]:
            return False
    return True


@njit(cache=True, nogil=True)
def gives_up(matrix: Matrix, mesh: Mesh, y: int, a: int) -> bool:
    """Whether y has a link that it could do without if it had one to a, and the other end can as well."""
    for at in range(mesh.start[y], mesh.start[y] + mesh.degree[y]):
        z = mesh.near[at]
        if z != a and spared(matrix, mesh, z, y):
            held = False
            for place in range(matrix.node_start[y], matrix.node_start[y + 1]):
                t = matrix.node_topics[place]
                if (
                    mesh.wants[t, z]
                    and not mesh.wants[t, a]
                    and mesh.within[matrix.node_slots[place]] <= mesh.need[t]
                ):
                    held = True
                    break
            if not held:
                return True
    return False


@njit(cache=True, nogil=True)
def common(matrix: Matrix, mesh: Mesh, v: int, w: int) -> int:
    count = 0
    for at in range(matrix.node_start[v], matrix.node_start[v + 1]):
        count += mesh.wants[matrix.node_topics[at], w]
    return count


@njit(cache=True, nogil=True)
def substitute(matrix: Matrix, mesh: Mesh, a: int, x: int, topics: Ints, prices: Prices, state: State) -> int:
    """A node to take the place of x at a, or −1."""
    count = needed_for(matrix, mesh, a, x, topics)
    rare = matrix.node_topics[
        matrix.node_start[a] + draw(state, matrix.node_start[a + 1] - matrix.node_start[a])
    ]
    for place in range(count):
        t = topics[place]
        if place == 0 or (
            matrix.topic_start[t + 1] - matrix.topic_start[t]
            < matrix.topic_start[rare + 1] - matrix.topic_start[rare]
        ):
            rare = t
    first, size = matrix.topic_start[rare], matrix.topic_start[rare + 1] - matrix.topic_start[rare]
    offset = draw(state, size)
    best, best_common = -1, -1
    for step in range(min(size, LOOK)):
        y = int(matrix.topic_nodes[first + (offset + step) % size])
        if y in (a, x) or mesh.degree[y] >= mesh.start[y + 1] - mesh.start[y]:
            continue
        if not wants_all(mesh, y, topics, count) or are_linked(mesh, a, y):
            continue
        if prices.size and prices[a, y] > prices[a, x]:
            continue
        if gives_up(matrix, mesh, y, a):
            return y
        served = common(matrix, mesh, a, y)
        if served > best_common:
            best, best_common = y, served
    if best >= 0 and best_common < common(matrix, mesh, a, x) and draw(state, ANYWAY) > 0:
        return -1
    return best


@njit(cache=True, nogil=True)
def shed(matrix: Matrix, mesh: Mesh, v: int, keep: int) -> int:
    """Remove v's redundant links, except the one to `keep`; returns how many."""
    gone = 0
    at = mesh.start[v]
    while at < mesh.start[v] + mesh.degree[v]:
        w = mesh.near[at]
        if w != keep and removable(matrix, mesh, v, w):
            drop(matrix, mesh, v, w)
            gone += 1
        else:
            at += 1
    return gone


@njit(cache=True, nogil=True)
def exchange(matrix: Matrix, mesh: Mesh, trials: int, prices: Prices, state: State) -> int:
    """Try this many exchanges, never for a link of a higher price; returns how many links were saved."""
    nodes = mesh.degree.size
    longest = 1
    for v in range(nodes):
        longest = max(longest, matrix.node_start[v + 1] - matrix.node_start[v])
    topics = np.empty(longest, np.int64)
    saved = 0
    for _ in range(trials):
        a = draw(state, nodes)
        if mesh.degree[a] == 0 or mesh.degree[a] >= mesh.start[a + 1] - mesh.start[a]:
            continue
        x = mesh.near[mesh.start[a] + draw(state, mesh.degree[a])]
        if not spared(matrix, mesh, x, a):
            continue
        y = substitute(matrix, mesh, a, x, topics, prices, state)
        if y < 0:
            continue
        add(matrix, mesh, a, y)
        if not removable(matrix, mesh, a, x):
            drop(matrix, mesh, a, y)
            continue
        drop(matrix, mesh, a, x)
        saved += shed(matrix, mesh, y, a) + shed(matrix, mesh, a, y)
    return saved


@njit(cache=True, nogil=True)
def links_of(mesh: Mesh) -> Pairs:
    """The links, in no order."""
    found = np.empty((mesh.degree.sum() // 2, 2), np.int64)
    place = 0
    for v in range(mesh.degree.size):
        for w in mesh.near[mesh.start[v] : mesh.start[v] + mesh.degree[v]]:
            if v < w:
                found[place, 0], found[place, 1] = v, w
                place += 1
    return found
