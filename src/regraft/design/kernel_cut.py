"""Compiled: where a topic of an overlay is weak, and the links that make it k-connected.

As in Even's test, the topic's nodes are taken in an order in which each has as many earlier neighbours as
possible; a node without k of them needs k paths to different earlier nodes, and the first k nodes must
not be cut from each other. Where that fails, the nodes that the search could leave are one side of a cut
of fewer than k nodes.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from regraft.design.kernel_levels import put
from regraft.design.kernel_mesh import Mesh, add, are_linked, clear_paths, paths_to_marked
from regraft.design.matrix import Ints, Matrix, Pairs

Sides = npt.NDArray[np.int8]
"""[topic, node]: 1 and 2 for the two sides of a topic's cut, 0 for the cut and for all others."""


@njit(cache=True, nogil=True)
def find_cut(matrix: Matrix, mesh: Mesh, t: int, side: Sides) -> bool:
    """Whether topic t can be cut by fewer than k nodes; the sides are written if so, else cleared."""
    members = matrix.topic_nodes[matrix.topic_start[t] : matrix.topic_start[t + 1]]
    side[t] = 0
    if members.size <= 1:
        return False
    for index in range(members.size):
        if mesh.within[matrix.topic_start[t] + index] < mesh.need[t]:
            _lone(mesh, t, members, members[index], side)
            return True
    if members.size <= mesh.k + 1:
        return False
    order, joined = _order(matrix, mesh, t)
    for one in range(mesh.k):
        for other in range(one):
            v, w = order[one], order[other]
            if not are_linked(mesh, v, w):
                mesh.stamp[0] += 1
                stamp = mesh.stamp[0]
                for at in range(mesh.start[w], mesh.start[w] + mesh.degree[w]):
                    mesh.target[mesh.near[at]] = stamp
                if _cuts(mesh, t, members, v, w, stamp, side):
                    return True
    mesh.stamp[0] += 1
    stamp = mesh.stamp[0]
    for index in range(members.size):
        v = order[index]
        # Each search has a new stamp, so the marks of earlier nodes stay valid.
        if index >= mesh.k and joined[v] < mesh.k and _cuts(mesh, t, members, v, -1, stamp, side):
            return True
        mesh.target[v] = stamp
    side[t] = 0
    return False


@njit(cache=True, nogil=True)
def _lone(mesh: Mesh, t: int, members: Ints, v: int, side: Sides) -> None:
    """A node with too few neighbours: they are the cut."""
    for x in members:
        side[t, x] = 2
    for at in range(mesh.start[v], mesh.start[v] + mesh.degree[v]):
        side[t, mesh.near[at]] = 0
    side[t, v] = 1


@njit(cache=True, nogil=True)
def _cuts(mesh: Mesh, t: int, members: Ints, v: int, w: int, target: int, side: Sides) -> bool:
    found = paths_to_marked(mesh, mesh.wants[t], v, w, target)
    clear_paths(mesh)
    if found >= mesh.k:
        return False
    stamp = mesh.stamp[0]
    for x in members:
        if mesh.seen[2 * x + 1] == stamp:
            side[t, x] = 1
        else:
            side[t, x] = 0 if mesh.seen[2 * x] == stamp else 2
    return True


@njit(cache=True, nogil=True)
def _order(matrix: Matrix, mesh: Mesh, t: int) -> tuple[Ints, Ints]:
    """The topic's nodes, those with most earlier neighbours first, and how many these are, up to k."""
    members = matrix.topic_nodes[matrix.topic_start[t] : matrix.topic_start[t + 1]]
    wants, k, count = mesh.wants[t], mesh.k, members.size
    joined = np.zeros(wants.size, np.int64)
    order, waiting, filled = (
        np.empty(count, np.int64),
        np.empty((k + 1, count), np.int64),
        np.zeros(k + 1, np.int64),
    )
    waiting[0], filled[0] = members, count
    for index in range(count):
        level = k
        while True:
            while filled[level] == 0:
                level -= 1
            filled[level] -= 1
            v = waiting[level, filled[level]]
            if joined[v] == level:
                break
        order[index] = v
        joined[v] = -1 - joined[v]  # taken
        for at in range(mesh.start[v], mesh.start[v] + mesh.degree[v]):
            x = mesh.near[at]
            if wants[x] and 0 <= joined[x] < k:
                joined[x] += 1
                waiting[joined[x], filled[joined[x]]] = x
                filled[joined[x]] += 1
    return order, -1 - joined


@njit(cache=True, nogil=True)
def crossed(matrix: Matrix, side: Sides, v: int, w: int) -> tuple[int, int]:
    """How many known cuts a link between v and w would cross, and how many topics they share."""
    cuts = shared = 0
    one, other = matrix.node_start[v], matrix.node_start[w]
    last_one, last_other = matrix.node_start[v + 1], matrix.node_start[w + 1]
    while one < last_one and other < last_other:
        t, u = matrix.node_topics[one], matrix.node_topics[other]
        if t == u:
            shared += 1
            cuts += side[t, v] + side[t, w] == 3
        one += t <= u
        other += u <= t
    return cuts, shared


@njit(cache=True, nogil=True)
def best_across(matrix: Matrix, mesh: Mesh, t: int, side: Sides, most: int) -> tuple[int, int]:
    """The link that crosses most known cuts, topic t's among them; (−1, −1) if no node has room for one."""
    members = matrix.topic_nodes[matrix.topic_start[t] : matrix.topic_start[t + 1]]
    ones, twos = 0, 0
    near_side, far_side = np.empty(members.size, np.int64), np.empty(members.size, np.int64)
    for x in members:
        if mesh.degree[x] < mesh.start[x + 1] - mesh.start[x]:
            if side[t, x] == 1:
                near_side[ones] = x
                ones += 1
            elif side[t, x] == 2:
                far_side[twos] = x
                twos += 1
    best_v = best_w = -1
    best_cuts = best_shared = -1
    skip = max(1, ones * twos // most)
    for number in range(0, ones * twos, skip):
        v, w = near_side[number // twos], far_side[number % twos]
        cuts, shared = crossed(matrix, side, v, w)
        if cuts > best_cuts or (cuts == best_cuts and shared > best_shared):
            best_v, best_w, best_cuts, best_shared = v, w, cuts, shared
    return best_v, best_w


@njit(cache=True, nogil=True)
def mend(matrix: Matrix, mesh: Mesh, topics: Ints, most: int) -> tuple[Pairs, int]:
    """Add links until these topics are k-connected: the links, and a topic that stays weak or −1."""
    side = np.zeros((mesh.need.size, mesh.degree.size), np.int8)
    for t in topics:
        find_cut(matrix, mesh, t, side)
    links, count = np.empty((0, 2), np.int64), 0
    stuck = -1
    waiting = topics.size
    while waiting > 0:
        t = topics[waiting - 1]
        if not side[t].any():
            waiting -= 1
            continue
        v, w = best_across(matrix, mesh, t, side, most)
        if v < 0:
            side[t] = 0
            stuck = t
            continue
        add(matrix, mesh, v, w)
        links = put(links, count, v, w)
        count += 1
        for at in range(matrix.node_start[v], matrix.node_start[v + 1]):
            u = matrix.node_topics[at]
            if mesh.wants[u, w] and side[u, v] + side[u, w] == 3:
                find_cut(matrix, mesh, u, side)
    return links[:count].copy(), stuck
