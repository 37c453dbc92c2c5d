"""The same actions as early as their links allow: fewer steps, nothing else changed."""

from collections.abc import Sequence

from regraft.plan.problem import Pair, Shift, pair


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
