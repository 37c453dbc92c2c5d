"""Lower bounds on steps and actions that hold for every plan, whatever actions it uses.

Actions. Each missing goal link is made by a removable link that moved there, and each removable link makes
one of them, so the cheapest assignment of removable to missing links bounds the shifts. A removable link
needs at least one shift, and at least as many as its two ends need: an end that has to get to another
island of staying links needs one; an end that has to get to another broker of its own island needs as
many as the staying links between, or two (out over another moving link and back in).

Steps. Let the path of a missing goal link have f staying links and r removable ones. In one step each of
its removable links can pass one staying link (f - 1), or be passed by a neighbour that itself moves
(r - 1, two of them busy), or take in one more removable link from beside the path (r + 1). It ends with
f = 0, r = 1. The fewest steps of this game bound the steps of any plan of shifts. The same holds
for the path of a removable link in the goal tree, from the last step to the first. On small
overlays `reach` proves more.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np

from regraft.model import Bounds, Limits
from regraft.plan.kernel_assign import least_assignment
from regraft.plan.kernel_tree import Flags, Ints, hang, new_tree, walk
from regraft.plan.problem import Pair, Problem
from regraft.plan.reach import Ground, windows

ASSIGNED = 1500
"""The most changed links for which the assignment is solved; for more, their number is the bound."""
COMPILED = 150
"""Up to this number of changed links our own assignment is used; scipy's is faster for more."""
REACHED = 400
"""The most brokers for which reachability is tried."""
TABLE = 60_000
"""The most actions for which reachability is computed."""
GAME = 10
"""The most removable links on a path for which the game is played; halving bounds longer ones."""


def lower_bounds(problem: Problem, limits: Limits, thorough: bool = True) -> Bounds:
    """Bounds for plans within these limits; if `thorough`, by reachability too where it is affordable."""
    if not problem.missing:
        return Bounds(0, 0)
    steps = max(path_bound(problem), 1)
    if thorough and problem.size <= REACHED:
        steps = reach_bound(Ground(problem), steps)
    return Bounds(steps, action_bound(problem))


def path_bound(problem: Problem) -> int:
    """The game above, for the worst path in either direction: a plan read backwards is made of shifts too."""
    there, back = (problem.initial, problem.missing), (problem.goal, problem.removable)
    return max(_worst_path(problem, *there), _worst_path(problem, *back))


def _worst_path(problem: Problem, tree_links: frozenset[Pair], to_make: Sequence[Pair]) -> int:
    links = sorted(tree_links)
    kept = problem.initial & problem.goal
    token = np.array([link not in kept for link in links], np.bool_)
    tree = new_tree(np.array(links, np.int64).reshape(-1, 2))
    hang(tree)
    worst = 0
    for one, other in to_make:
        on_path = tree.path[: walk(tree.hung, tree.path, one, other)]
        worst = max(worst, _game(*_count(on_path, token), len(problem.removable)))
    return worst


def _count(on_path: Ints, token: Flags) -> tuple[int, int]:
    tokens = int(token[on_path].sum())
    return len(on_path) - tokens, tokens


@cache
def _game(staying: int, tokens: int, most: int) -> int:
    """Fewest steps from (f, r) to (0, 1); breadth first, keeping the least f for each r."""
    halving = (staying + tokens - 1).bit_length()
    if tokens > GAME:
        return halving
    least, steps, escaped = {tokens: staying}, 0, 1 << 30
    while least.get(1) != 0 and steps < escaped:
        steps += 1
        after: dict[int, int] = {}
        for r, f in least.items():
            for merged in range(r // 2 + 1):
                for recruited in range(min(r - 2 * merged, max(most, r) - r + merged) + 1):
                    now = r - merged + recruited
                    passed = r - 2 * merged - recruited
                    if now <= GAME:
                        after[now] = min(after.get(now, f), max(0, f - passed))
                    else:
                        # Not followed further: a step merges at most half of the removable links.
                        escaped = min(escaped, steps + GAME.bit_length())
        least = after
    return max(steps, halving)


def reach_bound(ground: Ground, steps: int) -> int:
    """Raise the bound until reachability no longer refutes it, or its tables grow too large."""
    while True:
        shifts = ground.every_shift(steps, TABLE)
        if len(shifts) > TABLE or windows(ground, steps, shifts) is not None:
            return steps
        steps += 1


def action_bound(problem: Problem) -> int:
    """The assignment bound; for very many changed links only their number."""
    removable, missing = np.array(problem.removable, np.int64), np.array(problem.missing, np.int64)
    if len(missing) > ASSIGNED:
        return len(missing)
    ground = Ground(problem)
    a, b, u, v = removable[:, :1], removable[:, 1:], missing[None, :, 0], missing[None, :, 1]
    straight = _end_bound(ground, a, u) + _end_bound(ground, b, v)
    crossed = _end_bound(ground, a, v) + _end_bound(ground, b, u)
    least = np.maximum(np.minimum(straight, crossed), 1)
    if len(least) <= COMPILED:
        return int(least_assignment(least))
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 (takes longer to load than a small plan)

    rows, columns = linear_sum_assignment(least)
    return int(least[rows, columns].sum())


def _end_bound(ground: Ground, here: Ints, there: Ints) -> Ints:
    """Shifts that an end of a link needs from one broker to another, for every row and column."""
    beside = np.isin(ground.keys(here, there), ground.kept_keys)
    within = np.where(here == there, 0, np.where(beside, 1, 2))
    return np.where(ground.island[here] == ground.island[there], within, 1)
