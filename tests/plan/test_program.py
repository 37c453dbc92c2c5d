"""The integer program of Appendix A: its size, its rows, its answers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from regraft.plan.action_sets import naive
from regraft.plan.linear import Rows
from regraft.plan.operations import Grounded, conn
from regraft.plan.planning_task import PlanningTask, planning_task
from regraft.plan.problem import Problem, pair
from regraft.plan.program import FAMILIES, Model, build, chosen, size
from regraft.plan.solvers import Status, solve
from regraft.plan.watch import Watch

FIGURE_1 = Problem(tuple("1234"), frozenset({(0, 1), (0, 2), (1, 3)}), frozenset({(0, 1), (0, 2), (2, 3)}))


def task_of(problem: Problem) -> PlanningTask:
    return planning_task(problem, naive(problem))


def test_the_naive_program_has_the_variables_of_table_1() -> None:
    # 60 brokers in a line; the goal changes 12 links. The counts depend on neither choice.
    line = frozenset(pair(n, n + 1) for n in range(59))
    goal = line - {(n, n + 1) for n in range(12)} | {(n, 30) for n in range(12)}
    problem = Problem(tuple(map(str, range(60))), line, goal)
    task = task_of(problem)
    assert len(task.propositions) == 2 * (60 * 59 // 2)
    actions, variables, constraints = size(task, T=6)
    assert actions == 205_320
    assert variables == 1_355_820
    assert constraints + len(task.propositions) == 3_810_515


@pytest.mark.parametrize(("actions", "T", "variables"), [(35_904, 7, 392_928), (1_860, 7, 154_620)])
def test_with_every_pair_the_other_rows_of_table_1_follow_too(actions: int, T: int, variables: int) -> None:
    problem = Problem(
        tuple(map(str, range(60))),
        frozenset(pair(n, n + 1) for n in range(59)),
        frozenset(pair(0, n) for n in range(1, 60)),
    )
    task = planning_task(problem, naive(Problem(problem.ids[:34], frozenset(), frozenset()))[:actions], True)
    assert size(task, T)[:2] == (actions, variables)


@pytest.mark.parametrize("T", [1, 2, 3])
def test_the_counted_size_is_the_built_size(T: int) -> None:
    task = task_of(FIGURE_1)
    program = build(task, T)
    assert size(task, T) == (24, len(program.upper), program.rows.number)
    assert len(program.objective) == len(program.upper)
    assert int(program.rows.column.max()) < len(program.upper)


def test_propositions_that_nothing_mentions_do_not_change_the_answer() -> None:
    few = planning_task(FIGURE_1, [(3, 1, 0), (3, 0, 2)])
    all_pairs = planning_task(FIGURE_1, [(3, 1, 0), (3, 0, 2)], every_pair=True)
    assert len(few.propositions) < len(all_pairs.propositions)
    for task in (few, all_pairs):
        assert solve(build(task, 1), "cp-sat", Watch(10)).status is Status.INFEASIBLE
        assert solve(build(task, 2), "cp-sat", Watch(10)).objective == 2


def test_every_constraint_family_but_the_domains_is_there() -> None:
    assert list(FAMILIES) == list(range(2, 15))
    assert set(build(task_of(FIGURE_1), 2).upper.tolist()) == {1}


def formulas(m: Model, z: Sequence[int]) -> dict[int, list[bool]]:
    """Appendix A once more, term by term: which instances of each constraint does z satisfy?"""
    task, T = m.task, m.T
    F, A = range(len(task.propositions)), range(len(task.actions))
    name = task.propositions
    pre = {(f, a) for f in F for a in A if name[f] in task.actions[a].pre}
    add = {(f, a) for f in F for a in A if name[f] in task.actions[a].add}
    rid = {(f, a) for f in F for a in A if name[f] in task.actions[a].delete}

    def x(a: int, t: int) -> int:
        return z[int(m.x[a, t - 1])]

    def y(change: str, f: int, t: int) -> int:
        return z[int(getattr(m, change)[f, t])]

    def true(f: int, t: int) -> int:
        return y("add", f, t) + y("maintain", f, t) + y("preadd", f, t)

    def total(which: set[tuple[int, int]], f: int, t: int) -> int:
        return sum(x(a, t) for a in A if (f, a) in which)

    def mutex(first: str, f: int, t: int) -> bool:
        return y(first, f, t) + y("maintain", f, t) + y("delete", f, t) + y("predel", f, t) <= 1

    ft = [(f, t) for f in F for t in range(1, T + 1)]
    return {
        2: [y("add", f, 0) == 1 for f in F if name[f] in task.initial],
        3: [true(f, 0) == 0 for f in F if name[f] not in task.initial],
        4: [true(f, T) >= 1 for f in F if name[f] in task.goal],
        5: [total(add - pre, f, t) >= y("add", f, t) for f, t in ft],
        6: [x(a, t) <= y("add", f, t) for f, a in add - pre for t in range(1, T + 1)],
        7: [total(rid - pre, f, t) >= y("delete", f, t) for f, t in ft],
        8: [x(a, t) <= y("delete", f, t) for f, a in rid - pre for t in range(1, T + 1)],
        9: [total(pre - rid, f, t) >= y("preadd", f, t) for f, t in ft],
        10: [x(a, t) <= y("preadd", f, t) for f, a in pre - rid for t in range(1, T + 1)],
        11: [total(pre & rid, f, t) == y("predel", f, t) for f, t in ft],
        12: [mutex("add", f, t) for f, t in ft],
        13: [mutex("preadd", f, t) for f, t in ft],
        14: [y("preadd", f, t) + y("maintain", f, t) + y("predel", f, t) <= true(f, t - 1) for f, t in ft],
    }


def satisfied(rows: Rows, z: Sequence[int]) -> list[bool]:
    sums = np.bincount(rows.row, weights=rows.value * np.array(z)[rows.column], minlength=rows.number)
    return [bool(holds) for holds in (rows.lower <= sums) & (sums <= rows.upper)]


@pytest.mark.parametrize("likely", [0.02, 0.2, 0.5])
def test_each_family_holds_exactly_where_its_formula_does(likely: float) -> None:
    # An action that deletes what it does not require, so that (7) and (8) have members too.
    task = task_of(FIGURE_1)
    strange = Grounded(pre=frozenset(), add=frozenset({conn(1, 2)}), delete=frozenset({conn(0, 3)}))
    m = Model(replace(task, actions=[*task.actions, strange]), T=2)
    luck = np.random.default_rng(7)
    for _ in range(20):
        z = (luck.random(m.columns) < likely).astype(int).tolist()
        for number, instances in formulas(m, z).items():
            assert Counter(satisfied(FAMILIES[number](m), z)) == Counter(instances), number


def line(*brokers: int) -> frozenset[tuple[int, int]]:
    return frozenset(pair(a, b) for a, b in pairwise(brokers))


@pytest.mark.parametrize("left_out", [3, 4, 5, 10, 11, 13, 14])
def test_without_one_of_these_families_a_plan_would_be_too_short(
    left_out: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    crossed = Problem(tuple("abcd"), line(0, 1, 2, 3), line(1, 3, 0, 2))
    assert solve(build(task_of(crossed), 2), "cp-sat", Watch(20)).status is Status.INFEASIBLE
    monkeypatch.delitem(FAMILIES, left_out)
    assert solve(build(task_of(crossed), 2), "cp-sat", Watch(20)).status is Status.OPTIMAL


def test_figure_1_needs_two_steps_with_one_shift_each() -> None:
    task, shifts = task_of(FIGURE_1), naive(FIGURE_1)
    solved = solve(build(task, 2), "highs", Watch(10))
    assert solved.solution is not None
    steps = [[shifts[a] for a in step] for step in chosen(task, 2, solved.solution)]
    assert steps == [[(3, 1, 0)], [(3, 0, 2)]]


def test_blocks_of_columns_do_not_overlap_and_leave_no_gap() -> None:
    m = Model(task_of(FIGURE_1), 3, max_degree=2)
    blocks = (m.x, m.maintain, m.preadd, m.predel, m.add, m.delete, m.degree)
    columns = np.concatenate([block.ravel() for block in blocks])
    assert sorted(columns.tolist()) == list(range(m.columns))
