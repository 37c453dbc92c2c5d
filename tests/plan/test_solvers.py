"""Both solvers on small programs whose answer is known."""

import subprocess
import sys

import numpy as np
import pytest

from regraft.plan.linear import Expression, Ints, each, stack, total
from regraft.plan.program import Program
from regraft.plan.solvers import SOLVERS, Status, solve, whole
from regraft.plan.watch import Watch

each_solver = pytest.mark.parametrize("solver", sorted(SOLVERS))

FIRST, SECOND = np.array([0]), np.array([1])


def program(at_least: int) -> Program:
    """min 3 x0 + 2 x1, x0 + x1 >= at_least, x0 <= 1, x1 <= 4."""
    return Program(np.array([3, 2]), np.array([1, 4]), stack([each(FIRST) + each(SECOND) >= at_least]))


@each_solver
def test_the_best_solution_is_returned_with_its_bound(solver: str) -> None:
    solved = solve(program(at_least=5), solver, Watch(10))
    assert (solved.status, solved.objective, solved.bound) == (Status.OPTIMAL, 11, 11)
    assert solved.solution is not None
    assert solved.solution.tolist() == [1, 4]


@each_solver
def test_no_solution_is_told_as_such(solver: str) -> None:
    solved = solve(program(at_least=6), solver, Watch(10))
    assert (solved.status, solved.objective, solved.solution) == (Status.INFEASIBLE, None, None)


@each_solver
def test_equal_rows_hold_exactly(solver: str) -> None:
    rows = stack([each(FIRST).equals(1), (each(SECOND) - each(FIRST)).equals(2)])
    solved = solve(Program(np.array([1, 1]), np.array([1, 4]), rows), solver, Watch(10))
    assert solved.solution is not None
    assert solved.solution.tolist() == [1, 3]


def one_sum(columns: Ints) -> Expression:
    return total(columns[:, None], np.zeros(len(columns), dtype=np.int64), 1)


@each_solver
def test_without_time_nothing_is_claimed(solver: str) -> None:
    # Eighty random covers of a hundred columns: no presolve settles that.
    luck = np.random.default_rng(1)
    columns = np.arange(100)
    rows = stack([one_sum(luck.permutation(columns)[:40]) >= 17 for _ in range(80)])
    solved = solve(
        Program(luck.integers(10, 99, 100), np.ones(100, dtype=np.int64), rows), solver, Watch(0.0)
    )
    assert solved.status in (Status.UNKNOWN, Status.FEASIBLE)
    assert solved.bound <= (solved.objective or 10**6)


@each_solver
def test_the_number_of_threads_may_change_between_two_programs(solver: str) -> None:
    assert [solve(program(5), solver, Watch(10), threads).objective for threads in (1, 2, 1)] == [11, 11, 11]


@pytest.mark.parametrize(("bound", "rounded"), [(2.0000001, 2), (2.1, 3), (-np.inf, 0), (-1e-9, 0)])
def test_a_bound_on_whole_numbers_is_rounded_up(bound: float, rounded: int) -> None:
    assert whole(bound) == rounded


SMALL_PLAN = """
import sys
from regraft.model import Topology
from regraft.plan import make_plan

line = Topology.of([("a", "b"), ("b", "c"), ("c", "d")])
plan = make_plan(line, Topology.of([("a", "c"), ("b", "c"), ("c", "d")]))
solvers = {"highspy", "ortools", "pandas", "scipy.optimize", "scipy.sparse"}
print(plan.optimal, sorted(solvers & sys.modules.keys()))
"""


def test_a_small_plan_loads_no_solver() -> None:
    """Loading them takes longer than making the plan."""
    said = subprocess.run([sys.executable, "-c", SMALL_PLAN], capture_output=True, text=True, check=True)
    assert said.stdout == "True []\n"
