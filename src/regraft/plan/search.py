"""Better plans out of many: sample greedy plans, then merge them exactly.

Where only the number of actions counts, the samples are the plans that a local search visits, which starts
from the best plan (`replan`).

*Merging*: the actions of many different plans make a small action set that is known to hold good plans.
Over that set the compact model finds in fractions of a second what no single plan contains: a plan with
one step less, or with fewer actions. Where all shifts together make a small model, that one is
solved instead, and what the solver refutes then is proven for every plan.
"""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np

from regraft.model import Bounds, Infeasible, Limits
from regraft.plan.compact import FEASIBLE, Aim, CompactAnswer, solve
from regraft.plan.greedy import Greedy, PlanRows, Style
from regraft.plan.kernel_tree import Ints
from regraft.plan.moves import Mover
from regraft.plan.objective import Key, cost_of, key_of
from regraft.plan.problem import Problem, Shift
from regraft.plan.reach import Ground, Windows, windows
from regraft.plan.replan import Chain
from regraft.plan.schedule import as_early_as_possible
from regraft.plan.watch import Progress, Watch

ARCHIVE = 1500
"""Plans that are remembered for merging."""
ELITE = 60
"""The best of them are always kept; of the others a random part is dropped, so that variety remains."""
POOLS = (1500, 300, 60, 12, 3)
"""How many plans to merge: the largest of these numbers whose model is not too large."""
PROMISING = 1.03
"""How many times the fewest actions a plan may have to be remembered, when actions are minimised."""
STRETCH = 0.01
"""Seconds of local search between two offers of its plan; more if listing the plan takes longer."""
MERGED = 12_000
"""Action variables that a merged model may have: solving it takes about a second."""
WHOLE = 4_000
"""Action variables up to which the model of all shifts is solved instead."""


@dataclass
class Search:
    """The best plan so far, what is proven, and the plans that better ones can be made from."""

    problem: Problem
    limits: Limits
    watch: Watch
    bounds: Bounds
    best: list[list[Shift]] | None = None
    archive: list[tuple[Key, list[list[Shift]]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.key = key_of(self.problem, self.limits)
        self.cost = cost_of(self.problem, self.limits)
        self.greedy = Greedy(self.problem, self.limits)
        moving = "move" in self.limits.operations
        self.mover = Mover(self.problem, self.limits, self.watch) if moving else None
        self.ground = Ground(self.problem)
        self.rng = np.random.default_rng(self.limits.seed)
        self.style: Style | None = None
        self._plateau: Key = ()
        self._lock = Lock()
        self._merge_seconds = 1.0
        self._few = self.limits.minimise in ("actions", "cost")
        self._limited = self.limits.max_degree is not None or self.limits.exclusive
        self.replans = self.limits.minimise == "actions" and not self._limited

    def offer(self, steps: Sequence[Sequence[Shift]], remember: bool = True) -> bool:
        """Keep the plan if it is the best yet (then true), and in the archive if asked to."""
        plan = [list(step) for step in steps if step]
        key = self.key(plan)
        with self._lock:
            better = self.best is None or key < self.key(self.best)
            if remember or better:
                self.archive.append((key, plan))
            if len(self.archive) > 2 * ARCHIVE:
                self._forget()
            if not better:
                return False
            self.best = plan
        self.watch.tell(Progress(len(plan), sum(map(len, plan)), *self.bounds))
        return True

    def _forget(self) -> None:
        self.archive.sort(key=lambda entry: entry[0])
        others = self.rng.permutation(np.arange(ELITE, len(self.archive)))[: ARCHIVE - ELITE].tolist()
        self.archive = [*self.archive[:ELITE], *(self.archive[at] for at in others)]

    def first(self, tries: int = 1) -> None:
        """The plain greedy plan; if limits forbid it, other styles until one finds a plan, then moves."""
        for attempt in range(tries):
            style = self.greedy.plain() if attempt == 0 else self.greedy.random(self.rng)
            plan = self.greedy.run(style, self.limits.seed + attempt)
            if plan is not None:
                self.style = style
                self.offer(plan.listed())
                return
        for _ in range(tries):
            if self.best is None:
                self._move(self.rng)

    def sample(self, seconds: float) -> None:
        """Collect plans by local search or by greedy runs, on all threads."""
        until = self.watch.elapsed + min(seconds, self.watch.left)
        seeds = [int(self.rng.integers(1 << 31)) for _ in range(max(1, self.limits.threads))]
        work = self._replan if self.replans else self._sample
        if len(seeds) == 1:
            work(seeds[0], until)
            return
        with ThreadPoolExecutor(len(seeds)) as threads:
            list(threads.map(lambda seed: work(seed, until), seeds))

    def _replan(self, seed: int, until: float) -> None:
        """Offer the plans that a local search visits on its way from the best plan to fewer actions."""
        assert self.best is not None
        chain, tries = Chain(self.problem, self.best, seed), 1
        while self.watch.elapsed < until and not self.watch.expired:
            begun = self.watch.elapsed
            chain.run(tries)
            ended = self.watch.elapsed
            self.offer(chain.steps())
            if ended - begun < STRETCH + self.watch.elapsed - ended:
                tries *= 4

    def _sample(self, seed: int, until: float) -> None:
        """Offer greedy plans in random styles and in styles near the best one."""
        rng = np.random.default_rng(seed)
        while self.watch.elapsed < until and not self.watch.expired:
            if self.best is None:
                self._move(rng)
            near = self.style is not None and rng.random() < (0.9 if self._few else 0.5)
            style = self.greedy.changed(self.style, rng) if near and self.style else self.greedy.random(rng)
            plan = self.greedy.run(style, int(rng.integers(1 << 31)), self._too_long())
            if plan is None:
                continue
            score = (len(plan.rows),) if self._few else (plan.steps, len(plan.rows))
            if self._promising(plan):
                listed = plan.listed()
                steps = as_early_as_possible(listed) if self._few and not self._limited else listed
                # Plans near the best one resemble it, and merging saves steps only over plans that differ.
                remember = not near or self.limits.minimise != "steps"
                self.offer(steps, remember)
            # An equal score is accepted too: a search that can cross plateaus gets further.
            if not self._plateau or score <= self._plateau:
                self.style, self._plateau = style, score

    def _promising(self, plan: PlanRows) -> bool:
        """Whether to list the plan: where actions count, if it has at most a few more than the best plan."""
        if not self._few or self.limits.minimise == "cost" or self.best is None:
            return True
        return len(plan.rows) <= PROMISING * sum(map(len, self.best))

    def _move(self, rng: np.random.Generator) -> None:
        plan = self.mover.run(rng) if self.mover is not None else None
        if plan is not None:
            self.offer(plan)

    def _too_long(self) -> int:
        """The number of steps from which on a greedy run is not worth finishing."""
        if self.best is None or self._few:
            return 1 << 30
        return len(self.best) + 2

    def merge(self, seconds: float) -> bool:
        """One exact search over the actions of many plans; true if it found a better one."""
        assert self.best is not None
        self._merge_seconds = seconds
        if self.limits.minimise == "steps":
            return self._fewer_steps() or self._lower(len(self.best))
        return self._lower(len(self.best) + int(self.rng.integers(0, 3)))

    def _fewer_steps(self) -> bool:
        assert self.best is not None
        target = len(self.best) - 1
        if target < self.bounds.steps:
            return False
        answer, whole = self.solve_at(target, FEASIBLE)
        if answer.steps is not None:
            return self.offer(answer.steps)
        if whole and answer.proven:
            self.bounds = Bounds(target + 1, self.bounds.actions)
        return False

    def _lower(self, steps: int) -> bool:
        """Look for fewer actions, lower cost or less time with at most this number of steps."""
        assert self.best is not None
        slowest = self.limits.minimise == "time"
        counted = self.limits.minimise in ("steps", "actions")
        cost = (lambda act: 1) if counted else self.cost
        now = (
            sum(map(len, self.best))
            if counted
            else self.key(self.best)[0] - (len(self.best) if slowest else 0)
        )
        answer, whole = self.solve_at(steps, Aim(cost, slowest, now - 1), self.best)
        better = answer.steps is not None and self.offer(answer.steps)
        if whole and answer.proven and self.limits.minimise == "steps":
            self.bounds = Bounds(self.bounds.steps, sum(map(len, self.best)))
        return better

    def solve_at(
        self, steps: int, aim: Aim, hint: Sequence[Sequence[Shift]] = ()
    ) -> tuple[CompactAnswer, bool]:
        """The best plan over all shifts (true) if that model is small, else over those of kept plans."""
        table, whole = self._table(steps)
        if table is None:
            return CompactAnswer(None, 0, True), whole
        if table.choices > MERGED:
            return CompactAnswer(None, 0, False), whole
        timed = replace(aim, seconds=self._merge_seconds)
        return solve(self.problem, table, self.limits, timed, self.watch, hint), whole

    def _table(self, steps: int) -> tuple[Windows | None, bool]:
        if self.problem.size <= 200:
            shifts = self.ground.every_shift(steps, WHOLE)
            if len(shifts) <= WHOLE:
                table = windows(self.ground, steps, shifts)
                if table is None or table.choices <= WHOLE:
                    return table, True
        table = None
        for plans in POOLS:
            table = windows(self.ground, steps, self._pool(plans))
            if table is None or table.choices <= MERGED:
                break
        return table, False

    def _pool(self, plans: int) -> Ints:
        """The distinct actions of this number of remembered plans: some of the best, the others at random."""
        self.archive.sort(key=lambda entry: entry[0])
        best = max(1, min(ELITE, plans // 3))
        others = self.rng.permutation(np.arange(best, len(self.archive)))[: plans - best].tolist()
        chosen = [*self.archive[:best], *(self.archive[at] for at in others)]
        shifts = sorted({act for _, plan in chosen for step in plan for act in step})
        return np.array(shifts, np.int64).reshape(-1, 3)


def nothing_found(problem: Problem, limits: Limits) -> Infeasible:
    """No plan was found, although one exists without limits: which limit is in the way, and where."""
    if limits.max_degree is not None:
        degree = Counter(
            broker for tree in (problem.initial, problem.goal) for link in tree for broker in link
        )
        fullest = problem.ids[max(degree, key=lambda broker: (degree[broker], -broker))]
        reason = f"no plan found that keeps every broker at {limits.max_degree} links or fewer"
        return Infeasible(reason, "max-degree", fullest)
    return Infeasible("no plan found within the time limit", "time-limit")
