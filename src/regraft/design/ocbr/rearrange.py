"""One master's decision: the best tree over its neighbourhood, as shifts (OCBR §3.1, §3.2).

A small neighbourhood is solved exactly, a larger one by the tabu search of Figure 3. The star around the
master becomes the new tree by one shift for each neighbour that leaves the master. Those that end deepest
go first: then their new parent still has its link to the master, which guards the shift.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from regraft.design.ocbr.cost import cost_of
from regraft.design.ocbr.exact import tabulate
from regraft.design.ocbr.kernel_region import best_tree, tree_cost
from regraft.design.ocbr.kernel_search import seed_random
from regraft.design.ocbr.kernel_tabu import tabu_search
from regraft.design.ocbr.kernel_tree import NONE, Ints
from regraft.design.ocbr.neighbourhoods import LEAST, Tabu
from regraft.design.ocbr.problem import Problem
from regraft.model import Action, Broker, Link, Topology, ends
from regraft.model.traffic import Traffic

EXACT = 10
"""Neighbourhoods with at most this many brokers are solved exactly."""


def _everywhere(one: str, other: str) -> float | None:
    return 1.0


def _everyone(broker: str) -> float:
    return 1.0


@dataclass(frozen=True)
class Costs:
    """What a master knows of its surroundings: C_l (None: no such link is possible), C_b, α, β."""

    link: Callable[[str, str], float | None] = _everywhere
    broker: Callable[[str], float] = _everyone
    alpha: float = 1.0
    beta: float = 1.0


def rearrangement(
    master: str, neighbours: frozenset[str], view: Traffic, costs: Costs, tabu: Tabu, seed: int
) -> tuple[tuple[Action, ...], float]:
    """The shifts to a better neighbourhood and what they save per Δt; no shifts if nothing is better."""
    near = sorted(neighbours)
    if len(near) < 2 or not view:
        return (), 0.0
    problem = _problem(master, near, view, costs)
    if len(near) < EXACT:
        parent, saves, cost = _exactly(problem)
    else:
        seed_random(seed)
        star = np.zeros(len(near) + 1, np.int64)
        star[0] = NONE
        parent = np.empty_like(star)
        saves = -tabu_search(problem.net, star, tabu.iterations, tabu.moves, tabu.tenure, parent)
        cost = float(problem.net.demand.sum())
    if saves <= LEAST * abs(cost):
        return (), 0.0
    parent, more = _left_alone(problem, parent)
    return shifts_from_star(problem.ids, parent), saves + more


def _left_alone(problem: Problem, parent: Ints) -> tuple[Ints, float]:
    """The tree in which neighbours whose move saves nothing stay at the master; and what that saves."""
    best = before = cost_of(problem, parent).total
    for place in np.flatnonzero(parent > 0).tolist():
        tried = parent.copy()
        tried[place] = 0
        cost = cost_of(problem, tried).total
        if cost <= best * (1 + 1e-12):
            parent, best = tried, cost
    return parent, before - best


def _problem(master: str, near: list[str], view: Traffic, costs: Costs) -> Problem:
    ids = [master, *near]
    links = [
        Link(ends(one, other), cost=cost)
        for place, one in enumerate(ids)
        for other in ids[place + 1 :]
        if (cost := costs.link(one, other)) is not None
    ]
    brokers = tuple(Broker(id, cost=costs.broker(id)) for id in ids)
    return Problem.of(None, view, Topology(brokers, tuple(links), "mesh"), costs.alpha, costs.beta)


def _exactly(problem: Problem) -> tuple[Ints, float, float]:
    size = len(problem.ids)
    region = tabulate(problem)
    star = np.zeros(size, np.int64)
    star[0] = NONE
    before = tree_cost(region, star, size)
    return region.found, before - best_tree(region, size), before


def shifts_from_star(ids: tuple[str, ...], parent: Ints) -> tuple[Action, ...]:
    """From the star around ids[0] to the tree with these parents (places in `ids`; NONE for the first)."""

    @cache
    def depth(place: int) -> int:
        return 0 if parent[place] == NONE else 1 + depth(int(parent[place]))

    leaving = [place for place in range(1, len(ids)) if parent[place] != 0]
    leaving.sort(key=lambda place: (-depth(place), ids[place]))
    return tuple(Action("shift", (ids[place], ids[0], ids[int(parent[place])])) for place in leaving)
