"""Compiled search for shift plans: one call is one greedy plan, in time linear in the paths it shortens.

The state is a tree in arrays. Links that the goal does not have are *tokens*: only they move
(IPITT §III-C, rem). A missing goal link g is realised when the path between its ends in the current
tree, P(g), has become one link. Each step looks at all those paths, scores every shift along them by
how much it brings the goals closer, and takes shifts in order of score as long as they are compatible:
no link removed twice, no guard removed, a guard not used from both its ends (that gains nothing).

When that makes no progress for a while, plain path lengths are counted instead; when nothing shortens
them either, the goal with the shortest path is *slid* into place, one path link per step. That always
ends, so a plan is found for any two trees.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from regraft.plan.kernel_offers import (
    CAUTION,
    CHOOSY,
    LINEAR,
    MERGE,
    RECRUIT,
    Offers,
    Run,
    new_offers,
    scored_offers,
    sliding_offers,
)
from regraft.plan.kernel_tree import Flags, Floats, Ints, hang, new_tree, walk

DONE, TOO_LONG, STUCK = 0, 1, 2
"""How a greedy run ended: goal reached, more steps than allowed, or no shift possible within the limits."""

PATIENCE = 6
"""Steps without a shorter total length before a simpler method is used."""

FREE, MOVED, GUARD = 0, 1, 2
"""What a link is used for in the step that is being put together."""

FAR = 1 << 60


class Task(NamedTuple):
    """The initial links by their ends, which of them are tokens, and the ends of the missing goal links."""

    ends: Ints
    token: Flags
    goals: Ints


class Room(NamedTuple):
    """What the limits leave: degree before the step, links gained in it, brokers that take part in it."""

    degree: Ints
    gained: Ints
    busy: Flags
    max_degree: int
    exclusive: bool


@njit(cache=True, nogil=True)
def greedy_plan(
    task: Task, weight: Floats, style: Floats, max_steps: int, max_degree: int, exclusive: bool, seed: int
) -> tuple[int, int, Ints]:
    """One plan: how it ended, its number of steps, and its shifts as rows (step, i, j, k).

    The arguments are not changed. `max_degree` 0 means no limit.
    """
    np.random.seed(seed)
    run, wanted = new_run(task, weight, style), task.goals.shape[0]
    room = new_room(run.tree.ends, max_degree, exclusive)
    shifts, count = np.empty((64 + 8 * wanted, 4), np.int64), 0
    shortest, idle, focus, step = FAR, 0, -1, 0
    while True:
        hang(run.tree)
        total = settle(run)
        if total == 0:
            return DONE, step, shifts[:count]
        if step >= max_steps:
            return TOO_LONG, step, shifts[:count]
        if focus >= 0 and run.reached[focus]:
            focus, idle = -1, 0
        idle = 0 if total < shortest else idle + 1
        shortest = min(total, shortest)
        if idle >= PATIENCE and run.style[LINEAR] == 0.0:
            simplify(run.style)
            idle = 0
        offers = scored_offers(run, total) if idle < PATIENCE and focus < 0 else new_offers(0)
        if offers.scores.size == 0 and run.style[LINEAR] == 0.0:
            simplify(run.style)
            idle = 0
            continue
        if offers.scores.size == 0:
            focus = nearest_goal(run) if focus < 0 else focus
            offers = sliding_offers(run, focus)
        shifts = with_space(shifts, count, wanted)
        taken = choose(run, offers, room, step, shifts[count:])
        if taken == 0:
            return STUCK, step, shifts[:count]
        count += taken
        step += 1


@njit(cache=True, nogil=True)
def new_run(task: Task, weight: Floats, style: Floats) -> Run:
    """The state before the first step, in arrays of its own."""
    merging = np.zeros(task.ends.shape[0] + 2)
    for tokens in range(1, merging.size if style[LINEAR] == 0.0 else 0):
        merging[tokens] = style[MERGE] * np.log2(tokens)
    return Run(
        new_tree(task.ends.copy()),
        task.token.copy(),
        task.goals,
        np.zeros(task.goals.shape[0], np.bool_),
        weight,
        style.copy(),
        merging,
    )


@njit(cache=True, nogil=True)
def new_room(ends: Ints, max_degree: int, exclusive: bool) -> Room:
    """Count the degrees of the initial tree."""
    size = ends.shape[0] + 1
    degree = np.zeros(size, np.int64)
    for link in range(ends.shape[0]):
        degree[ends[link, 0]] += 1
        degree[ends[link, 1]] += 1
    return Room(degree, np.zeros(size, np.int64), np.zeros(size, np.bool_), max_degree, exclusive)


@njit(cache=True, nogil=True)
def settle(run: Run) -> int:
    """Make tokens that have become goal links stay; return the total length of the other goals' paths."""
    (_, _, _, hung, _, path), token, goals, reached, _, _, _ = run
    total = 0
    for goal in range(goals.shape[0]):
        if not reached[goal]:
            length = walk(hung, path, goals[goal, 0], goals[goal, 1])
            if length == 1:
                token[path[0]], reached[goal] = False, True
            else:
                total += length
    return total


@njit(cache=True, nogil=True)
def simplify(style: Floats) -> None:
    """Count plain path lengths from now on, and take every shift that shortens them."""
    style[LINEAR], style[CAUTION], style[RECRUIT] = 1.0, 0.0, 0.0


@njit(cache=True, nogil=True)
def nearest_goal(run: Run) -> int:
    """The goal with the shortest path."""
    hung, path, goals = run.tree.hung, run.tree.path, run.goals
    fewest, nearest = FAR, -1
    for goal in range(goals.shape[0]):
        if not run.reached[goal]:
            length = walk(hung, path, goals[goal, 0], goals[goal, 1])
            if length < fewest:
                fewest, nearest = length, goal
    return nearest


@njit(cache=True, nogil=True)
def with_space(shifts: Ints, count: int, more: int) -> Ints:
    """The rows, with space for more; every token moves at most once per step."""
    if count + more <= shifts.shape[0]:
        return shifts
    longer = np.empty((2 * (count + more), 4), np.int64)
    longer[:count] = shifts[:count]
    return longer


@njit(cache=True, nogil=True)
def choose(run: Run, offers: Offers, room: Room, step: int, shifts: Ints) -> int:
    """Take the best offers that fit together and within the limits; write them down, return how many."""
    scores, moving, guard, over = offers
    degree, gained, busy, max_degree, exclusive = room
    ends, order = run.tree.ends, np.argsort(scores)
    use, side = np.zeros(ends.shape[0], np.int8), np.empty(ends.shape[0], np.int64)
    gained[:], busy[:] = 0, False
    worst = worst_score(scores, order, run.style[CHOOSY])
    taken = 0
    for offer in order:
        mover, stays, j = moving[offer], guard[offer], over[offer]
        if scores[offer] > worst:
            break
        if use[mover] != FREE or use[stays] == MOVED or (use[stays] == GUARD and side[stays] != j):
            continue
        i, k = ends[mover, 0] ^ ends[mover, 1] ^ j, ends[stays, 0] ^ ends[stays, 1] ^ j
        # Both ends of the new link count it before any broker has lost one.
        if max_degree > 0 and max(degree[i] + gained[i], degree[k] + gained[k]) >= max_degree:
            continue
        if exclusive and (busy[i] or busy[j] or busy[k]):
            continue
        use[mover], use[stays], side[stays] = MOVED, GUARD, j
        busy[i] = busy[j] = busy[k] = True
        gained[i] += 1
        gained[k] += 1
        shifts[taken, 0], shifts[taken, 1], shifts[taken, 2], shifts[taken, 3] = step, i, j, k
        ends[mover, 0], ends[mover, 1] = i, k
        taken += 1
    for place in range(taken):
        degree[shifts[place, 2]] -= 1
        degree[shifts[place, 3]] += 1
    return taken


@njit(cache=True, nogil=True)
def worst_score(scores: Floats, order: Ints, choosy: float) -> float:
    """The score up to which offers are taken; what is slid (scores above 0) is not chosen by score."""
    best = -scores[order[0]] if order.size > 0 else 0.0
    return -choosy * best if best > 0.0 else np.inf
