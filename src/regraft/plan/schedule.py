"""The same shifts in fewer steps: each as early as its links and the limits allow."""

from collections import Counter
from collections.abc import Sequence

from regraft.model import Limits
from regraft.plan.problem import Pair, Problem, Shift, pair


def as_early_as_possible(steps: Sequence[Sequence[Shift]]) -> list[list[Shift]]:
    """Each shift goes into the first step where its links are there, its guard stays, its new link is free.

    Kept for every link: since when it is there or gone (`settled`), and the last step that used it as a
    guard; it may be removed only after that.
    """
    settled: dict[Pair, int] = {}
    guarded: dict[Pair, int] = {}
    early: list[list[Shift]] = []
    for i, j, k in (shift for step in steps for shift in step):
        removed, guard, added = pair(i, j), pair(j, k), pair(i, k)
        at = max(
            settled.get(removed, 0), settled.get(guard, 0), settled.get(added, 0), guarded.get(removed, 0)
        )
        settled[removed] = settled[added] = at + 1
        guarded[guard] = max(guarded.get(guard, 0), at + 1)
        early.extend([] for _ in range(at + 1 - len(early)))
        early[at].append((i, j, k))
    return early


def within_limits(shifts: Sequence[Shift], problem: Problem, limits: Limits) -> list[list[Shift]]:
    """Steps that keep the limits, of shifts that keep them when they are made one by one."""
    one_by_one = [[shift] for shift in shifts]
    if limits.max_degree is None and not limits.exclusive:
        return as_early_as_possible(one_by_one)
    degree = Counter(broker for link in problem.initial for broker in link)
    steps: list[list[Shift]] = []
    waiting = list(shifts)
    while waiting:
        step, later = _next_step(waiting, degree, limits)
        if not step:
            # Shifts that were moved ahead have used up the degree that the first waiting shift needs.
            return one_by_one
        for _, j, k in step:
            degree[k] += 1
            degree[j] -= 1
        steps.append(step)
        waiting = later
    return steps


def _next_step(waiting: list[Shift], degree: Counter[int], limits: Limits) -> tuple[list[Shift], list[Shift]]:
    """The shifts that can be made at once, and those that have to wait for them or for each other."""
    step: list[Shift] = []
    later: list[Shift] = []
    changed: set[Pair] = set()
    guards: set[Pair] = set()
    gained: Counter[int] = Counter()
    busy: set[int] = set()
    for i, j, k in waiting:
        ends, guard = {pair(i, j), pair(i, k)}, pair(j, k)
        free = changed.isdisjoint({*ends, guard}) and guards.isdisjoint(ends)
        most = limits.max_degree
        room = most is None or all(degree[b] + gained[b] < most for b in (i, k))
        if free and room and not (limits.exclusive and not busy.isdisjoint((i, j, k))):
            step.append((i, j, k))
            gained.update((i, k))
            busy.update((i, j, k))
        else:
            later.append((i, j, k))
        changed |= ends
        guards.add(guard)
    return step, later
