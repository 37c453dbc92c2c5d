"""The entry: a better broker tree for the traffic, how good it is, and how to get there (OCBR)."""

from dataclasses import dataclass, replace

from regraft.design.ocbr.beam import MOST_WORK, all_pairs, beam
from regraft.design.ocbr.bound import MOST_FLOW, Bound, cut_tree_design, lower_bound
from regraft.design.ocbr.budget import Way, way_to, within
from regraft.design.ocbr.cost import Cost, cost_of
from regraft.design.ocbr.effort import Effort
from regraft.design.ocbr.exact import QUICK, exact, steiner
from regraft.design.ocbr.kernel_tree import Ints
from regraft.design.ocbr.neighbourhoods import TABU, Tabu, by_neighbourhoods
from regraft.design.ocbr.problem import Problem
from regraft.design.ocbr.search import global_search
from regraft.design.ocbr.starts import starts
from regraft.model import BadInput, Topology

METHODS = ("auto", "global", "neighbourhoods", "exact")
MOVES = Effort(moves=20_000)
WIDTH = 20
"""Trees that the beam keeps for each number of shifts."""


@dataclass(frozen=True)
class Design:
    """`method` says how the tree was found; `way` leads from the tree before to this one."""

    topology: Topology
    before: Cost
    cost: Cost
    bound: Bound
    way: Way
    method: str

    @property
    def optimal(self) -> bool:
        """Proven: no tree costs less."""
        return self.cost.total <= self.bound.value * (1 + 1e-9)

    @property
    def gap(self) -> float:
        """By how much, at most, the cost is above the least possible (0.05: five percent)."""
        if self.optimal:
            return 0.0
        return self.cost.total / self.bound.value - 1 if self.bound.value else float("inf")


def propose_tree(
    problem: Problem,
    topology: Topology | None = None,
    method: str = "auto",
    budget: int | None = None,
    effort: Effort = MOVES,
    seed: int = 0,
    tabu: Tabu = TABU,
) -> Design:
    """A tree for the problem's traffic; without a topology, the cheapest links are the tree before.

    With a budget, at most that many shifts lead from the topology to it.
    """
    if method not in METHODS:
        raise BadInput("method", f"unknown method {method!r}, choose one of {', '.join(METHODS)}")
    if budget is not None and (budget < 0 or topology is None):
        raise BadInput(
            "budget", "a whole number of shifts from 0 on, and a topology to start from, are needed"
        )
    start = problem.parents(topology.by_ends) if topology else next(iter(starts(problem).values()))
    before = cost_of(problem, start)
    found, done, bound = _found(problem, start, before, method, _without_budget(effort, budget), seed, tabu)
    way = way_to(problem, start, found)
    if budget is not None and way.shifts > budget:
        way = _best_within(problem, start, found, budget, effort, seed)
        done = f"{done}, within {budget} shifts"
    cost = cost_of(problem, way.parent)
    return Design(problem.topology(way.parent), before, cost, bound or lower_bound(problem), way, done)


def _found(
    problem: Problem, start: Ints, before: Cost, method: str, effort: Effort, seed: int, tabu: Tabu
) -> tuple[Ints, str, Bound | None]:
    """The tree, what found it, and the bound that proves it, if it is proven."""
    if not len(problem.net.demand):
        return start, "nothing travels", Bound(before.total, "exact")
    if method == "exact" or (method == "auto" and len(problem.ids) <= QUICK):
        return _proven(problem, exact(problem), "exact")
    if method == "neighbourhoods":
        return by_neighbourhoods(problem, start, before.total, effort, tabu, seed).parent, method, None
    if method == "auto":
        if (best := steiner(problem)) is not None:
            return _proven(problem, best, "exact")
        if problem.open and len(problem.ids) * len(problem.net.at) <= MOST_FLOW:
            above, bound = cut_tree_design(problem)
            if cost_of(problem, above).total <= bound.value * (1 + 1e-9):
                return above, "cut tree", bound
    return global_search(problem, start, effort, seed), "global", None


def _proven(problem: Problem, parent: Ints, by: str) -> tuple[Ints, str, Bound]:
    return parent, by, Bound(cost_of(problem, parent).total, by)


def _best_within(problem: Problem, start: Ints, goal: Ints, budget: int, effort: Effort, seed: int) -> Way:
    """The best way within the budget, from many greedy climbs, and for small budgets also from a beam."""
    ways = []
    size = len(problem.ids)
    count = size * (size - 1) // 2 if problem.open else len(problem.links)
    if budget * WIDTH * count <= MOST_WORK:
        ways.append(beam(problem, start, all_pairs(problem), budget, WIDTH, effort))
    ways.append(within(problem, start, goal, budget, _rounds(effort), seed))
    return max(ways, key=lambda way: way.saves)


def _rounds(effort: Effort) -> Effort:
    """A round of climbs takes as long as a few hundred moves of a search."""
    return effort if effort.moves is None else replace(effort, moves=max(1, effort.moves // 400))


def _without_budget(effort: Effort, budget: int | None) -> Effort:
    """The effort for the search without a budget: half, if the other half searches within a budget."""
    if budget is None:
        return effort
    fraction = effort.fraction
    halved = (lambda: 2 * fraction()) if fraction else None
    moves = None if effort.moves is None else effort.moves // 2
    ended = effort.expired
    return replace(
        effort,
        moves=moves,
        fraction=halved,
        expired=(lambda: ended() or fraction() >= 0.5) if fraction else ended,
    )
