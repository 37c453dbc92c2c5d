"""Compiled local search over plans: take some actions out of a plan and plan them anew with fewer.

A plan is a sequence of acts, rows (token, i, j, k). Acts that do not concern each other may change places,
so a *window* of acts that belong together can be made a stretch of the sequence; the trees before and after
it are a task of their own, small enough for a greedy plan in microseconds. A plan read backwards leads
from the goal tree to the initial tree (shift(i, k, j) undoes shift(i, j, k)), and greedy plans differ much by
direction: the search turns the plan round again and again.
"""

from collections.abc import Sequence

import numpy as np
from numba import njit

from regraft.plan.kernel import DONE, Task, greedy_plan
from regraft.plan.kernel_offers import BASE, CHOOSY, LINEAR, MERGE, NOISE, RECRUIT, STYLE_SIZE
from regraft.plan.kernel_tree import Floats, Ints

LARGEST = 40
"""Acts that a window has at most."""
SPREADS = (0.0, 0.1, 0.4, 1.0)
"""Shares of the acts between those of a window that are taken into it although they need not be."""
DIFFERENCES = (0.0, 0.5, 1.0, 2.0)
"""How different the weights of goals are: standard deviations of their logarithms."""


@njit(cache=True, nogil=True)
def replan(ends: Ints, acts: Ints, wanted: Ints, tries: int, seed: int) -> tuple[Ints, Ints]:
    """The initial links, perhaps renumbered, and the plan after this many tries: it never gets longer.

    `ends` has the initial links by their ends, `wanted` the missing goal links as sorted keys
    (low · brokers + high): once there, they must stay. The arguments are not changed.
    """
    np.random.seed(seed)
    backwards = False
    for _ in range(tries):
        if np.random.rand() < 0.5:
            ends, acts = turned(ends, acts)
            backwards = not backwards
        acts, first, last = gathered(
            acts, np.random.randint(acts.shape[0]), 2 + np.random.randint(LARGEST - 1), any_of(SPREADS)
        )
        before, window = ends.copy(), acts[first:last]
        perform(before, acts[:first])
        found, anew = planned_anew(before, window, wanted, backwards)
        # An equal length is accepted too: a search that can cross plateaus gets further.
        if found and anew.shape[0] <= window.shape[0]:
            acts = np.concatenate((acts[:first], anew, renamed(before, window, anew, acts[last:])))
    return turned(ends, acts) if backwards else (ends, acts)


@njit(cache=True, nogil=True, inline="always")
def any_of(values: Sequence[float]) -> float:
    return values[np.random.randint(len(values))]


@njit(cache=True, nogil=True)
def perform(ends: Ints, acts: Ints) -> None:
    """Move the tokens."""
    for at in range(acts.shape[0]):
        ends[acts[at, 0], 0], ends[acts[at, 0], 1] = acts[at, 1], acts[at, 3]


@njit(cache=True, nogil=True)
def turned(ends: Ints, acts: Ints) -> tuple[Ints, Ints]:
    """The tree after the plan, and the plan from there back."""
    last, back = ends.copy(), acts[::-1].copy()
    perform(last, acts)
    back[:, 2], back[:, 3] = acts[::-1, 3], acts[::-1, 2]
    return last, back


@njit(cache=True, nogil=True, inline="always")
def same(one: int, other: int, a: int, b: int) -> bool:
    return (one == a and other == b) or (one == b and other == a)


@njit(cache=True, nogil=True)
def concern(acts: Ints, x: int, y: int) -> bool:
    """Must act x stay before act y? x makes what y needs, needs what y removes or removes what y makes."""
    i, j, k, l, m, n = acts[x, 1], acts[x, 2], acts[x, 3], acts[y, 1], acts[y, 2], acts[y, 3]
    return same(i, k, l, m) or same(i, k, m, n) or same(j, k, l, m) or same(i, j, l, n)


@njit(cache=True, nogil=True)
def gathered(acts: Ints, first: int, size: int, spread: float) -> tuple[Ints, int, int]:
    """The plan with a window of at most `size` acts in one stretch, and where that begins and ends.

    Of the acts in between, the window takes all that must follow one of its acts, and a share of the others.
    """
    window = np.empty(size, np.int64)
    others = np.empty(acts.shape[0], np.int64)
    window[0] = first
    inside, outside, at = 1, 0, first + 1
    while at < acts.shape[0] and inside < size:
        follows = np.random.rand() < spread
        for place in range(inside):
            if follows:
                break
            follows = concern(acts, window[place], at)
        if follows:
            window[inside] = at
            inside += 1
        else:
            others[outside] = at
            outside += 1
        at += 1
    order = np.concatenate(
        (np.arange(first), others[:outside], window[:inside], np.arange(at, acts.shape[0]))
    )
    return acts[order], first + outside, first + outside + inside


@njit(cache=True, nogil=True)
def planned_anew(before: Ints, window: Ints, wanted: Ints, backwards: bool) -> tuple[bool, Ints]:
    """A greedy plan from the tree before the window to the one after it; false if it took too long."""
    after = before.copy()
    perform(after, window)
    moved = np.unique(window[:, 0])
    token, goals, count = np.zeros(before.shape[0], np.bool_), np.empty((moved.size, 2), np.int64), 0
    for one in moved:
        token[one] = joining(before[one, 0], before[one, 1], after, moved) < 0
        if joining(after[one, 0], after[one, 1], before, moved) < 0:
            goals[count] = after[one]
            count += 1
    if count == 0:
        return True, window[:0]
    weight = np.exp(any_of(DIFFERENCES) * np.random.randn(count))
    task, seed = Task(before, token, goals[:count]), np.random.randint(1 << 31)
    ended, _, rows = greedy_plan(task, weight, random_style(), window.shape[0], 0, False, seed)
    return ended == DONE and numbered(rows, before, moved, wanted, backwards), rows


@njit(cache=True, nogil=True)
def numbered(rows: Ints, before: Ints, moved: Ints, wanted: Ints, backwards: bool) -> bool:
    """Turn rows (step, i, j, k) into acts; false if one of them takes a goal link away."""
    now = before.copy()
    for row in range(rows.shape[0]):
        i, j, k = rows[row, 1], rows[row, 2], rows[row, 3]
        gone = k if backwards else j
        key = min(i, gone) * (before.shape[0] + 1) + max(i, gone)
        place = np.searchsorted(wanted, key)
        if place < wanted.size and wanted[place] == key:
            return False
        mover = joining(i, j, now, moved)
        rows[row, 0], now[mover, 0], now[mover, 1] = mover, i, k
    return True


@njit(cache=True, nogil=True)
def joining(one: int, other: int, ends: Ints, some: Ints) -> int:
    """Which of some links joins these brokers; -1 if none does."""
    for link in some:
        if same(one, other, ends[link, 0], ends[link, 1]):
            return int(link)
    return -1


@njit(cache=True, nogil=True)
def random_style() -> Floats:
    """A style (see `kernel_offers`), more varied than those of `greedy`: a window is planned many times."""
    style = np.zeros(STYLE_SIZE)
    style[LINEAR], style[RECRUIT] = np.random.rand() < 0.3, np.random.rand() < 0.3
    style[CHOOSY], style[NOISE] = any_of((0.0, 0.5, 0.9, 1.0)), any_of((0.0, 0.3, 1.0))
    style[BASE], style[MERGE] = np.log(any_of((1.3, 1.6, 2.0, 3.0, 5.0))), any_of((0.3, 0.6, 1.0))
    return style


@njit(cache=True, nogil=True)
def renamed(before: Ints, old: Ints, new: Ints, acts: Ints) -> Ints:
    """The acts after a window that is planned anew: other tokens may stand where theirs stood."""
    was, now = before.copy(), before.copy()
    perform(was, old)
    perform(now, new)
    moved = np.unique(old[:, 0])
    name = np.arange(before.shape[0])
    for one in moved:
        name[one] = joining(was[one, 0], was[one, 1], now, moved)
    acts = acts.copy()
    acts[:, 0] = name[acts[:, 0]]
    return acts
