"""Global search for a tree of low cost, which escapes the local optima of neighbourhood moves.

First, from the given tree and from a few others: descent by exchanges of links anywhere and by exact
rearrangement of regions; then simulated annealing from the best, in rounds that each start warmer or
cooler, with a descent at the end of each. The best tree seen is kept. Every accepted move's change of
cost is exact, so the sum is the cost.
"""

from dataclasses import dataclass, field

import numpy as np

from regraft.design.ocbr.cost import cost_of
from regraft.design.ocbr.effort import Effort, Progress
from regraft.design.ocbr.kernel_loop import Worth, new_worth
from regraft.design.ocbr.kernel_region import Region, new_region
from regraft.design.ocbr.kernel_search import Offers, search, seed_random
from regraft.design.ocbr.kernel_tree import NONE, Ints, Loop, Tree, hang_up, new_loop
from regraft.design.ocbr.problem import Problem
from regraft.design.ocbr.rebuild import Builder
from regraft.design.ocbr.starts import offers, rerooted, starts

REGION = 8
"""Brokers of a region: a rearrangement of eight takes as long as a look at their traffic."""
REGIONS = 0.5
"""The share of rearrangements among all moves."""
WARM, COOL = 0.02, 0.01
"""A round's first temperature as a share of the cost per broker, and its last as a share of its first."""
HUBS = 4
"""How many changes of hubs are tried between two rounds."""
CHUNK = 64
"""Moves between two looks at the clock."""


@dataclass
class SearchState:
    """The best tree so far, its cost, and the scratch space of the kernels."""

    problem: Problem
    effort: Effort
    best: Ints
    cost: float
    moves: int = 0
    loop: Loop = field(init=False)
    worth: Worth = field(init=False)
    region: Region = field(init=False)
    offers: Offers = field(init=False)

    def __post_init__(self) -> None:
        net = self.problem.net
        size = len(self.problem.ids)
        self.loop = new_loop(size)
        self.worth = new_worth(size, len(net.demand))
        self.region = new_region(min(REGION, size))
        self.offers = offers(self.problem)

    @property
    def spent(self) -> float:
        return self.effort.spent(self.moves)


def global_search(problem: Problem, start: Ints | None, effort: Effort, seed: int = 0) -> Ints:
    """Parents of the best tree found; never worse than `start`."""
    trees = starts(problem)
    if start is not None:
        trees = {"given": start, **trees}
    seed_random(seed)
    costs = {name: cost_of(problem, parent).total for name, parent in trees.items()}
    name = min(costs, key=lambda name: costs[name])
    state = SearchState(problem, effort, trees[name].copy(), costs[name])
    if len(problem.ids) < 3 or not len(problem.net.demand):
        return state.best
    order = sorted(trees, key=lambda name: costs[name])
    for place, name in enumerate(order):  # a quarter of the effort finds the tree to continue from
        descend(state, trees[name], costs[name], 0.25 * (place + 1) / len(order), f"descent, {name}")
    anneal(state, np.random.default_rng(seed))
    return state.best


def descend(state: SearchState, parent: Ints, cost: float, until: float, doing: str) -> tuple[Ints, float]:
    """Only accept gains, until this part of the effort is spent or nothing was found for a while."""
    size = len(state.problem.ids)
    tree = hang_up(parent, np.diff(state.problem.net.at_start))
    best, idle = parent.copy(), 0
    while idle < 12 * size and state.spent < until:
        change, _, moves = run(state, tree, best, CHUNK, 0.0, 0.0)
        cost += change
        idle = 0 if change < 0 else idle + moves
        keep(state, tree.parent, cost, doing)
    return tree.parent, cost


def anneal(state: SearchState, rng: np.random.Generator) -> None:
    """Rounds of annealing from the best tree, each one and a half times as long as the last."""
    size = len(state.problem.ids)
    length, builder = 40 * size, Builder.of(state.problem, rng)
    while state.spent < 1.0:
        if builder is not None:
            rebuild(state, builder, length)
        if state.problem.open:
            change_hubs(state, rng)
        heat = WARM * state.cost / size * 10 ** rng.uniform(-1.5, 0.5)
        tree = hang_up(state.best, np.diff(state.problem.net.at_start))
        cost, done, best = state.cost, 0, state.best.copy()
        begun = state.spent
        while done < length and state.spent < 1.0:
            cooled = heat * COOL ** max(done / length, state.spent - begun)
            change, lowest, moves = run(state, tree, best, CHUNK, cooled, cooled)
            if cost + lowest < state.cost:
                keep(state, best, cost + lowest, "annealing")
            cost += change
            done += moves
        descend(state, tree.parent, cost, 1.0, "annealing")
        length = length * 3 // 2


def change_hubs(state: SearchState, rng: np.random.Generator) -> None:
    """Descents from trees in which a busy broker and another have changed places.

    Where every pair is possible, good trees have hubs, and no small move leads from one hub to the next.
    """
    size = len(state.problem.ids)
    degree = np.bincount(state.best[1:], minlength=size) + 1.0
    begun = state.spent
    for _ in range(HUBS):
        if state.spent >= min(1.0, begun + 0.2):
            return
        one = int(rng.choice(size, p=degree**2 / (degree**2).sum()))
        parent = swapped(state.best, one, int(rng.integers(size)))
        descend(state, parent, cost_of(state.problem, parent).total, 1.0, "changing hubs")


def swapped(parent: Ints, one: int, other: int) -> Ints:
    """The tree with two brokers in each other's place, rooted at broker 0."""
    number = np.arange(len(parent))
    number[one], number[other] = other, one
    renamed = np.empty_like(parent)
    renamed[number] = np.where(parent == NONE, NONE, number[parent])
    return rerooted(renamed)


def rebuild(state: SearchState, builder: Builder, moves: int) -> None:
    """For about as long as a round: try trees with one class's subtree built anew."""
    size = len(state.problem.ids)
    ends, begun = state.moves + moves, state.spent
    while state.moves < ends and state.spent < min(1.0, begun + 0.2):
        parent = builder.build(state.best)
        cost = cost_of(state.problem, parent).total
        state.moves += size
        keep(state, parent, cost, "rebuilding")


def run(
    state: SearchState, tree: Tree, best: Ints, moves: int, hot: float, cold: float
) -> tuple[float, float, int]:
    """One call of the compiled search; counts its moves."""
    if state.effort.moves is not None:
        moves = max(1, min(moves, state.effort.moves - state.moves))
    plan = np.array([moves, hot, cold, REGIONS])
    s = state
    change, lowest, done = search(s.problem.net, tree, s.loop, s.worth, s.region, s.offers, plan, best)
    state.moves += done
    return change, lowest, done


def keep(state: SearchState, parent: Ints, cost: float, doing: str) -> None:
    if cost < state.cost - 1e-9 * abs(state.cost):
        state.best, state.cost = parent.copy(), cost
    state.effort.tell(Progress(doing, state.moves, state.cost))
