"""Greedy plans in many styles: the first plan, and the variety that better plans are made from.

A *style* says how a greedy run weighs goals and shifts (see `kernel_offers`). Random styles give different
plans in fractions of a millisecond; changing the weights of a few goals of a good style is a local
search over plans (what finished late gets more weight, or less, and survives if it helps).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from regraft.model import Limits
from regraft.plan import kernel, kernel_offers
from regraft.plan.kernel import Task
from regraft.plan.kernel_tree import Floats, Ints
from regraft.plan.problem import Problem, Shift

Steps = list[list[Shift]]
Generator = np.random.Generator


class PlanRows(NamedTuple):
    """A plan as the kernel writes it: rows (step, i, j, k). Most plans are only counted and never listed."""

    steps: int
    rows: Ints

    def listed(self) -> Steps:
        plan: Steps = [[] for _ in range(self.steps)]
        for step, i, j, k in self.rows.tolist():
            plan[step].append((i, j, k))
        return plan


@dataclass(frozen=True)
class Style:
    """Weights of the goals, and the kernel's parameters."""

    weight: Floats
    parameters: Floats


class Greedy:
    """Runs greedy plans for one task, within its limits."""

    def __init__(self, problem: Problem, limits: Limits) -> None:
        self.problem, self.limits = problem, limits
        links = sorted(problem.initial)
        self._task = Task(
            np.array(links, np.int64).reshape(-1, 2),
            np.array([link not in problem.goal for link in links], np.bool_),
            np.array(problem.missing, np.int64).reshape(-1, 2),
        )

    def plain(self) -> Style:
        """The style that counts path lengths and nothing else: robust at any size."""
        parameters = np.zeros(kernel_offers.STYLE_SIZE)
        parameters[kernel_offers.LINEAR] = 1.0
        return Style(np.ones(len(self._task.goals)), parameters)

    def random(self, rng: Generator) -> Style:
        few = self.limits.minimise in ("actions", "cost")
        parameters = np.zeros(kernel_offers.STYLE_SIZE)
        parameters[kernel_offers.LINEAR] = float(rng.random() < (0.7 if few else 0.3))
        parameters[kernel_offers.CHOOSY] = rng.choice([0.0, 0.3, 0.6, 0.9]) if few else 0.0
        parameters[kernel_offers.RECRUIT] = float(rng.random() < 0.3)
        for place, values in _CHOICES:
            parameters[place] = rng.choice(values)
        return Style(
            np.exp(rng.normal(size=len(self._task.goals)) * rng.choice([0.0, 0.3, 1.0, 2.0])), parameters
        )

    def changed(self, style: Style, rng: Generator) -> Style:
        """A style nearby: a few goals weigh more or less, perhaps another parameter differs."""
        weight, parameters = style.weight.copy(), style.parameters.copy()
        some = rng.integers(0, len(weight), rng.integers(1, 4))
        weight[some] *= np.exp(rng.normal(size=len(some)))
        for place, values in _CHOICES:
            if rng.random() < 0.15:
                parameters[place] = rng.choice(values)
        return Style(weight, parameters)

    def run(self, style: Style, seed: int, max_steps: int = 1 << 30) -> PlanRows | None:
        """The plan of this style; None if it takes more steps, or none is found within the limits."""
        ended, steps, rows = kernel.greedy_plan(
            self._task,
            style.weight,
            style.parameters,
            max_steps,
            min(self.limits.max_degree or 0, self.problem.size),
            self.limits.exclusive,
            seed,
        )
        return PlanRows(steps, rows) if ended == kernel.DONE else None


_CHOICES: Sequence[tuple[int, Sequence[float]]] = (
    (kernel_offers.BASE, tuple(np.log([1.3, 1.6, 2.0, 3.0, 5.0]))),
    (kernel_offers.MERGE, (0.3, 0.6, 1.0)),
    (kernel_offers.NOISE, (0.0, 0.1, 0.3, 0.6)),
    (kernel_offers.CAUTION, (0.0, 0.0, 0.2, 0.5)),
)
