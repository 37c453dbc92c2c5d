"""Compiled reachability: which links can exist after which step, and which shifts can make them.

See `reach` for what the results mean and why they are safe to prune by.
"""

import numpy as np
from numba import njit

from regraft.plan.kernel_tree import Flags, Ints

NEVER = 1 << 14


@njit(cache=True, nogil=True)
def first_steps(present: Flags, may_appear: Flags, may_move: Flags) -> Ints:
    """For every pair of brokers the fewest steps after which a link could join it, were nothing in the way.

    A link a-c can appear one step after a-b and b-c, if one of them may move.
    """
    size = present.shape[0]
    first = np.full((size, size), NEVER, np.int64)
    near, degree = np.empty((size, size), np.int64), np.zeros(size, np.int64)
    one, other = np.empty(size * size, np.int64), np.empty(size * size, np.int64)
    tail = 0
    for a in range(size):
        for b in range(a + 1, size):
            if present[a, b]:
                first[a, b] = first[b, a] = 0
                one[tail], other[tail] = a, b
                tail += 1
    head, step = 0, 0
    while head < tail:
        begin, end = head, tail
        while head < end:
            a, b = one[head], other[head]
            near[a, degree[a]], near[b, degree[b]] = b, a
            degree[a] += 1
            degree[b] += 1
            head += 1
        step += 1
        for place in range(begin, end):
            for way in range(2):
                a, b = (one[place], other[place]) if way == 0 else (other[place], one[place])
                for at in range(degree[b]):
                    c = near[b, at]
                    if (
                        c != a
                        and first[a, c] == NEVER
                        and may_appear[a, c]
                        and (may_move[a, b] or may_move[b, c])
                    ):
                        first[a, c] = first[c, a] = step
                        one[tail], other[tail] = a, c
                        tail += 1
    return first


@njit(cache=True, nogil=True)
def shifts_within(
    steps: int, forth: Ints, back: Ints, kept: Flags, wanted: Flags, apart: Flags, most: int
) -> Ints:
    """All shifts (i, j, k) that fit between the first steps from the initial and from the goal tree.

    Stops after `most` + 1 rows: the caller sees that there are too many.
    """
    size, count = kept.shape[0], 0
    rows = np.empty((1024, 3), np.int64)
    for j in range(size):
        for k in range(size):
            guard_before = 0 if kept[j, k] else forth[j, k]
            guard_after = 0 if kept[j, k] else back[j, k]
            if k == j or not (kept[j, k] or apart[j, k]) or guard_before + 1 + guard_after > steps:
                continue
            for i in range(size):
                if i in (j, k) or wanted[i, j] or not apart[i, j] or not apart[i, k]:
                    continue
                if max(forth[i, j], guard_before) + 1 + max(back[i, k], guard_after) <= steps:
                    if count > most:
                        return rows[:count]
                    if count == rows.shape[0]:
                        longer = np.empty((2 * count, 3), np.int64)
                        longer[:count] = rows
                        rows = longer
                    rows[count, 0], rows[count, 1], rows[count, 2] = i, j, k
                    count += 1
    return rows[:count]


@njit(cache=True, nogil=True, inline="always")
def possible(act: int, step: int, live: Flags, removed: Ints, added: Ints, guards: Ints) -> bool:
    """Can the action happen between the states `step` and `step` + 1?"""
    if not live[step, removed[act]] or not live[step + 1, added[act]]:
        return False
    guard = guards[act]
    return bool(guard < 0 or (live[step, guard] and live[step + 1, guard]))


@njit(cache=True, nogil=True)
def refine(live: Flags, removed: Ints, added: Ints, guards: Ints) -> Flags:
    """Remove from `live` (state, link) what no action supports, until nothing changes.

    A link is in a state only if it was there before or an action can have added it, and only if it
    stays or an action can remove it. Returns which actions remain.
    """
    steps, links, acts = live.shape[0] - 1, live.shape[1], removed.size
    remaining = np.ones(acts, np.bool_)
    support = np.zeros(links, np.bool_)
    changed = True
    while changed:
        changed = False
        used = np.zeros(acts, np.bool_)
        for step in range(steps):
            support[:] = False
            for act in range(acts):
                if remaining[act] and possible(act, step, live, removed, added, guards):
                    support[added[act]] = True
                    used[act] = True
            for link in range(links):
                if live[step + 1, link] and not live[step, link] and not support[link]:
                    live[step + 1, link] = False
                    changed = True
        remaining = used
        for step in range(steps - 1, -1, -1):
            support[:] = False
            for act in range(acts):
                if remaining[act] and possible(act, step, live, removed, added, guards):
                    support[removed[act]] = True
            for link in range(links):
                if live[step, link] and not live[step + 1, link] and not support[link]:
                    live[step, link] = False
                    changed = True
    return remaining


@njit(cache=True, nogil=True)
def happening(live: Flags, removed: Ints, added: Ints, guards: Ints) -> Flags:
    """(step, action): which actions can happen in which step."""
    steps, acts = live.shape[0] - 1, removed.size
    can = np.zeros((steps, acts), np.bool_)
    for step in range(steps):
        for act in range(acts):
            can[step, act] = possible(act, step, live, removed, added, guards)
    return can


@njit(cache=True, nogil=True)
def components(size: int, one: Ints, other: Ints) -> Ints:
    """The component of each node in the graph with the edges one[e]-other[e], numbered by first nodes."""
    above = np.arange(size)
    for edge in range(one.size):
        a, b = one[edge], other[edge]
        while above[a] != a:
            above[a] = above[above[a]]
            a = above[a]
        while above[b] != b:
            above[b] = above[above[b]]
            b = above[b]
        above[max(a, b)] = min(a, b)
    label, count = np.empty(size, np.int64), 0
    for node in range(size):
        if above[node] == node:
            label[node] = count
            count += 1
        else:
            label[node] = label[above[node]]
    return label
