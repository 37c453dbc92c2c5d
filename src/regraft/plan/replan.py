"""Fewer actions by local search: a chain of plans, in each of which some actions of the last are replanned.

`kernel_replan` does the work; a `Chain` keeps the current plan. It treats plans as sequences of shifts, so it
cannot keep limits on degrees or on what happens in one step.
"""

from collections.abc import Sequence

import numpy as np

from regraft.plan import kernel_replan
from regraft.plan.problem import Problem, Shift, pair
from regraft.plan.schedule import as_early_as_possible


class Chain:
    """A local search that continues where it stopped; for plans without limits."""

    def __init__(self, problem: Problem, steps: Sequence[Sequence[Shift]], seed: int) -> None:
        self._wanted = np.array([one * problem.size + other for one, other in problem.missing], np.int64)
        self._rng = np.random.default_rng(seed)
        links = sorted(problem.initial)
        self._ends = np.array(links, np.int64).reshape(-1, 2)
        token = {link: number for number, link in enumerate(links)}
        acts = []
        for i, j, k in (act for step in steps for act in step):
            moved = token[pair(i, k)] = token.pop(pair(i, j))
            acts.append((moved, i, j, k))
        self._acts = np.array(acts, np.int64).reshape(-1, 4)

    def run(self, tries: int) -> None:
        """Try to shorten `tries` windows of the plan; it never gets longer."""
        seed = int(self._rng.integers(1 << 31))
        self._ends, self._acts = kernel_replan.replan(self._ends, self._acts, self._wanted, tries, seed)

    def steps(self) -> list[list[Shift]]:
        return as_early_as_possible([[(i, j, k)] for _, i, j, k in self._acts.tolist()])
