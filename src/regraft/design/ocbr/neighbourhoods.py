"""OCBR as printed, seen from one place: neighbourhood by neighbourhood until no broker improves (§3.1, §3.2).

Every accepted step lowers the global cost by what the master measured locally, so this ends. The masters act
one after another in a random order that follows from the seed; in the live network there is no order
(`master`).
"""

from dataclasses import dataclass

import numpy as np

from regraft.design.ocbr.effort import Effort, Progress
from regraft.design.ocbr.kernel_loop import new_worth
from regraft.design.ocbr.kernel_search import seed_random
from regraft.design.ocbr.kernel_tabu import apply, contract, neighbourhood, tabu_search
from regraft.design.ocbr.kernel_tree import NONE, Ints, hang_up, new_loop
from regraft.design.ocbr.problem import Problem
from regraft.design.ocbr.starts import rerooted

LEAST = 1e-9
"""As a share of the total cost: a smaller gain is a rounding error, and the search might never end."""


@dataclass(frozen=True)
class Tabu:
    """Figure 3's n (iterations) and N (moves looked at in each); how long a link stays tabu (0: always)."""

    iterations: int = 30
    moves: int = 12
    tenure: int = 0


TABU = Tabu()


@dataclass(frozen=True)
class Fixpoint:
    """The tree at which no master improves anything, its cost, and the cost after each accepted step.

    `settled` is false if the effort ended before that.
    """

    parent: Ints
    cost: float
    trace: tuple[float, ...]
    rounds: int
    settled: bool


def by_neighbourhoods(
    problem: Problem, start: Ints, cost: float, effort: Effort, tabu: Tabu = TABU, seed: int = 0
) -> Fixpoint:
    """Let every broker be master in turn, until a whole round improves nothing or the effort ends."""
    net, size = problem.net, len(problem.ids)
    rng = np.random.default_rng(seed)
    seed_random(seed)
    tree = hang_up(start, np.diff(net.at_start))
    loop, worth = new_loop(size), new_worth(size, len(net.demand))
    brokers, trace = np.empty(size + 1, np.int64), [cost]
    moves, rounds, improved = 0, 0, True
    while improved and size > 2:
        improved = False
        rounds += 1
        for master in rng.permutation(size).tolist():
            if effort.spent(moves) >= 1.0:
                return Fixpoint(tree.parent, trace[-1], tuple(trace), rounds, False)
            k = neighbourhood(tree, master, brokers)
            if k < 3:
                continue
            local, hanging = contract(net, tree, worth, loop.clock, brokers, k)
            hub = 0 if brokers[0] == master else 1
            found = np.empty(k, np.int64)
            change = tabu_search(local, _star(k, hub), tabu.iterations, tabu.moves, tabu.tenure, found)
            moves += 1
            if change < -LEAST * abs(trace[-1]):
                apply(tree, brokers, rerooted(found), hanging, k)
                trace.append(trace[-1] + change)
                improved = True
            effort.tell(Progress(f"round {rounds} of the masters", moves, trace[-1]))
    return Fixpoint(tree.parent, trace[-1], tuple(trace), rounds, True)


def _star(k: int, hub: int) -> Ints:
    """The parents of a star over k places, rooted at place 0."""
    parent = np.full(k, hub, np.int64)
    parent[0] = NONE
    if hub:
        parent[hub] = 0
    return parent
