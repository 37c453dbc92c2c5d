"""Compiled: an overlay whose links come and go, with counts that show at once that a link must stay.

`within[s]` is how many neighbours of a slot's node share its topic, and must not fall below `need[t]`: k, or
all the others in a topic of at most k nodes. If that lets a link go, G(t) stays k-connected without it
exactly if its ends have k more paths in common that share no other node; common neighbours are such paths,
the rest is found by augmenting a flow (states 2v: entering v, 2v + 1: leaving v).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from regraft.design.matrix import Ints, Matrix, Pairs

Flags = npt.NDArray[np.bool_]
ENDS_HERE = -2


class Mesh(NamedTuple):
    """The neighbours of node v are `near[start[v] : start[v] + degree[v]]`; the rest of its part is spare."""

    k: int
    wants: Flags  # [topic, node]
    start: Ints
    degree: Ints
    near: Ints
    within: Ints
    need: Ints
    stamp: Ints  # one number that only rises: marks of earlier searches are smaller
    target: Ints  # marks: neighbours of the far end
    seen: Ints  # marks of states
    came: Ints
    queue: Ints
    before: Ints
    behind: Ints
    touched: Ints  # the nodes that were on a path, behind their number


@njit(cache=True, nogil=True)
def new_mesh(matrix: Matrix, links: Pairs, k: int, capacity: Ints) -> Mesh:
    """An overlay with these links, in which a node can have at most `capacity[v]`."""
    nodes, topics = matrix.node_start.size - 1, matrix.topic_start.size - 1
    wants = np.zeros((topics, nodes), np.bool_)
    need = np.empty(topics, np.int64)
    for t in range(topics):
        for slot in range(matrix.topic_start[t], matrix.topic_start[t + 1]):
            wants[t, matrix.topic_nodes[slot]] = True
        need[t] = min(k, matrix.topic_start[t + 1] - matrix.topic_start[t] - 1)
    start = np.zeros(nodes + 1, np.int64)
    for v in range(nodes):
        start[v + 1] = start[v] + capacity[v]
    mesh = Mesh(
        k,
        wants,
        start,
        np.zeros(nodes, np.int64),
        np.empty(start[nodes], np.int64),
        np.zeros(matrix.topic_nodes.size, np.int64),
        need,
        np.zeros(1, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros(2 * nodes, np.int64),
        np.empty(2 * nodes, np.int64),
        np.empty(2 * nodes + 2, np.int64),
        np.full(nodes, -1, np.int64),
        np.full(nodes, -1, np.int64),
        np.zeros(k * nodes + 1, np.int64),
    )
    for place in range(links.shape[0]):
        add(matrix, mesh, links[place, 0], links[place, 1])
    return mesh


@njit(cache=True, nogil=True)
def add(matrix: Matrix, mesh: Mesh, v: int, w: int) -> None:
    mesh.near[mesh.start[v] + mesh.degree[v]] = w
    mesh.near[mesh.start[w] + mesh.degree[w]] = v
    mesh.degree[v] += 1
    mesh.degree[w] += 1
    _count_within(matrix, mesh, v, w, 1)


@njit(cache=True, nogil=True)
def drop(matrix: Matrix, mesh: Mesh, v: int, w: int) -> None:
    _forget(mesh, v, w)
    _forget(mesh, w, v)
    _count_within(matrix, mesh, v, w, -1)


@njit(cache=True, nogil=True)
def _forget(mesh: Mesh, v: int, w: int) -> None:
    mesh.degree[v] -= 1
    last = mesh.start[v] + mesh.degree[v]
    for at in range(mesh.start[v], last):
        if mesh.near[at] == w:
            mesh.near[at] = mesh.near[last]
            return


@njit(cache=True, nogil=True)
def are_linked(mesh: Mesh, v: int, w: int) -> bool:
    if mesh.degree[v] > mesh.degree[w]:
        v, w = w, v
    for at in range(mesh.start[v], mesh.start[v] + mesh.degree[v]):  # noqa: SIM110 (no generators in compiled code)
        if mesh.near[at] == w:
            return True
    return False


@njit(cache=True, nogil=True)
def _count_within(matrix: Matrix, mesh: Mesh, v: int, w: int, by: int) -> None:
    one, other = matrix.node_start[v], matrix.node_start[w]
    last_one, last_other = matrix.node_start[v + 1], matrix.node_start[w + 1]
    while one < last_one and other < last_other:
        t, u = matrix.node_topics[one], matrix.node_topics[other]
        if t == u:
            mesh.within[matrix.node_slots[one]] += by
            mesh.within[matrix.node_slots[other]] += by
        one += t <= u
        other += u <= t


@njit(cache=True, nogil=True)
def spared(matrix: Matrix, mesh: Mesh, v: int, w: int) -> bool:
    """Whether v would still have enough neighbours in every topic without w."""
    for at in range(matrix.node_start[v], matrix.node_start[v + 1]):
        t = matrix.node_topics[at]
        if mesh.wants[t, w] and mesh.within[matrix.node_slots[at]] <= mesh.need[t]:
            return False
    return True


@njit(cache=True, nogil=True)
def removable(matrix: Matrix, mesh: Mesh, v: int, w: int) -> bool:
    """Whether a link is redundant: every topic that its ends share stays k-connected without it."""
    if not spared(matrix, mesh, v, w) or not spared(matrix, mesh, w, v):
        return False
    for at in range(matrix.node_start[v], matrix.node_start[v + 1]):
        t = matrix.node_topics[at]
        if mesh.wants[t, w] and not have_paths(mesh, t, v, w):
            return False
    return True


@njit(cache=True, nogil=True)
def have_paths(mesh: Mesh, t: int, v: int, w: int) -> bool:
    """Whether v and w have k paths in topic t, beside a link, that share no other node."""
    wants, near = mesh.wants[t], mesh.near
    mesh.stamp[0] += 1
    stamp = mesh.stamp[0]
    for at in range(mesh.start[w], mesh.start[w] + mesh.degree[w]):
        mesh.target[near[at]] = stamp
    found = paths_to_marked(mesh, wants, v, w, stamp)
    clear_paths(mesh)
    return found >= mesh.k


@njit(cache=True, nogil=True)
def paths_to_marked(mesh: Mesh, wants: Flags, v: int, w: int, target: int) -> int:
    """How many paths, up to k, lead from v to different marked nodes without w; they are left standing."""
    found = 0
    for at in range(mesh.start[v], mesh.start[v] + mesh.degree[v]):
        x = mesh.near[at]
        if found < mesh.k and mesh.target[x] == target and wants[x] and x != w:
            _put(mesh, x, v)
            mesh.behind[x] = ENDS_HERE
            found += 1
    while found < mesh.k and _augment(mesh, wants, v, w, target):
        found += 1
    return found


@njit(cache=True, nogil=True)
def _put(mesh: Mesh, x: int, previous: int) -> None:
    """Put x on a path, after `previous`."""
    if mesh.before[x] < 0:
        mesh.touched[0] += 1
        mesh.touched[mesh.touched[0]] = x
    mesh.before[x] = previous


@njit(cache=True, nogil=True)
def clear_paths(mesh: Mesh) -> None:
    """Clear all paths, not by walking along them: augmenting may have left cycles beside them."""
    for place in range(1, mesh.touched[0] + 1):
        x = mesh.touched[place]
        mesh.before[x] = mesh.behind[x] = -1
    mesh.touched[0] = 0


@njit(cache=True, nogil=True)
def _augment(mesh: Mesh, wants: Flags, v: int, w: int, target: int) -> bool:
    """One more path, by a breadth-first search over what the paths so far leave free."""
    near, before = mesh.near, mesh.before
    seen, came, queue = mesh.seen, mesh.came, mesh.queue
    mesh.stamp[0] += 1
    stamp = mesh.stamp[0]
    seen[2 * v] = seen[2 * v + 1] = stamp
    queue[0], head, tail = 2 * v + 1, 0, 1
    while head < tail:
        state = queue[head]
        head += 1
        x = state >> 1
        if state & 1 == 0:
            y = before[x]
            if seen[2 * y + 1] != stamp:
                seen[2 * y + 1], came[2 * y + 1], queue[tail] = stamp, state, 2 * y + 1
                tail += 1
            continue
        for at in range(mesh.start[x], mesh.start[x] + mesh.degree[x]):
            y = near[at]
            if not wants[y] or seen[2 * y] == stamp or y == w:
                continue
            seen[2 * y], came[2 * y] = stamp, state
            if before[y] >= 0:
                queue[tail] = 2 * y
            elif mesh.target[y] == target:
                _take(mesh, v, y)
                return True
            else:
                seen[2 * y + 1], came[2 * y + 1], queue[tail] = stamp, 2 * y, 2 * y + 1
            tail += 1
        if x != v and before[x] >= 0 and seen[2 * x] != stamp:
            seen[2 * x], came[2 * x], queue[tail] = stamp, state, 2 * x
            tail += 1
    return False


@njit(cache=True, nogil=True)
def _take(mesh: Mesh, source: int, end: int) -> None:
    """Change the paths along the search tree: one path more."""
    before, behind = mesh.before, mesh.behind
    behind[end] = ENDS_HERE
    state = 2 * end
    while state != 2 * source + 1:
        previous = mesh.came[state]
        one, other = previous >> 1, state >> 1
        if previous & 1 and one != other:
            _put(mesh, other, one)
            if one != source:
                behind[one] = other
        elif previous & 1:
            before[one] = behind[one] = -1
        state = previous
