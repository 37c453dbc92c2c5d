"""Solve an integer program with HiGHS or CP-SAT. No other module of the published planner knows a solver.

The solvers are imported when they are first asked for: together they take longer to load than most
plans take to make.
"""

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from regraft.model import RegraftError
from regraft.plan.linear import Ints
from regraft.plan.program import Program
from regraft.plan.watch import Watch

if TYPE_CHECKING:
    import highspy
    from ortools.sat.python import cp_model


class Status(Enum):
    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    FEASIBLE = "feasible"
    """There is a solution, but it is not known to be the best."""
    UNKNOWN = "unknown"
    """Time ran out before anything was known."""


class Solved(NamedTuple):
    """`objective` and `solution` are None unless there is a solution; `bound` is proven."""

    status: Status
    objective: int | None
    bound: int
    solution: Ints | None


Solver = Callable[[Program, Watch, int, int], Solved]
"""(program, watch, threads, seed) -> Solved"""


def solve(program: Program, solver: str, watch: Watch, threads: int = 1, seed: int = 0) -> Solved:
    """Solve to a gap of 0, or until the watch expires or is stopped."""
    return SOLVERS[solver](program, watch, threads, seed)


def highs(program: Program, watch: Watch, threads: int, seed: int) -> Solved:
    """HiGHS: branch and cut."""
    import highspy  # noqa: PLC0415

    objective, upper, rows = program
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(upper), rows.number
    lp.col_cost_ = objective.astype(np.float64)
    lp.col_lower_, lp.col_upper_ = np.zeros(len(upper)), upper.astype(np.float64)
    lp.row_lower_, lp.row_upper_ = rows.lower, rows.upper
    lp.integrality_ = [highspy.HighsVarType.kInteger] * len(upper)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = row_starts(rows.row, rows.number)
    lp.a_matrix_.index_ = rows.column
    lp.a_matrix_.value_ = rows.value.astype(np.float64)

    # HiGHS keeps one pool of threads per process and refuses another number until it is reset.
    highspy.Highs.resetGlobalScheduler(True)
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("mip_rel_gap", 0.0)
    model.setOptionValue("time_limit", watch.left)
    model.setOptionValue("threads", threads)
    model.setOptionValue("random_seed", seed)
    model.HandleUserInterrupt = True
    if model.passModel(lp) == highspy.HighsStatus.kError:
        raise RegraftError("HiGHS does not accept the program")
    with watch.on_stop(model.cancelSolve):
        if model.run() == highspy.HighsStatus.kError:
            raise RegraftError("HiGHS does not accept the program")
    return highs_answer(model)


def highs_answer(model: "highspy.Highs") -> Solved:
    import highspy  # noqa: PLC0415

    status, info = model.getModelStatus(), model.getInfo()
    # Every column is bounded, so "unbounded or infeasible" means infeasible.
    if status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible):
        return Solved(Status.INFEASIBLE, None, 0, None)
    has_solution = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    bound = whole(info.mip_dual_bound)
    if not has_solution:
        return Solved(Status.UNKNOWN, None, bound, None)
    solution = np.rint(np.array(model.getSolution().col_value)).astype(np.int64)
    best = status == highspy.HighsModelStatus.kOptimal
    value = round(info.objective_function_value)
    return Solved(Status.OPTIMAL if best else Status.FEASIBLE, value, value if best else bound, solution)


def cp_sat(program: Program, watch: Watch, threads: int, seed: int) -> Solved:
    """CP-SAT: clause learning over whole numbers, so its answers are exact."""
    from ortools.sat.python import cp_model  # noqa: PLC0415

    model = cp_model.CpModel()
    fill(model.proto, program)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = watch.left
    solver.parameters.catch_sigint_signal = False
    solver.parameters.num_workers = threads
    solver.parameters.random_seed = seed
    with watch.on_stop(solver.stop_search):
        status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return Solved(Status.INFEASIBLE, None, 0, None)
    bound = whole(solver.best_objective_bound)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Solved(Status.UNKNOWN, None, bound, None)
    solution = np.array(solver.response_proto.solution, dtype=np.int64)
    return Solved(
        Status.OPTIMAL if status == cp_model.OPTIMAL else Status.FEASIBLE,
        round(solver.objective_value),
        bound,
        solution,
    )


def fill(proto: "cp_model.CpModelProto", program: Program) -> None:
    """Write columns, rows and objective straight into CP-SAT's message: no object per term."""
    objective, upper, rows = program
    for top in upper.tolist():
        proto.variables.add().domain.extend((0, top))
    column, value = rows.column.tolist(), rows.value.tolist()
    start = row_starts(rows.row, rows.number).tolist()
    lower, above = (np.clip(limit, -FAR, FAR).astype(np.int64).tolist() for limit in (rows.lower, rows.upper))
    for row in range(rows.number):
        linear = proto.constraints.add().linear
        entries = slice(start[row], start[row + 1])
        linear.vars.extend(column[entries])
        linear.coeffs.extend(value[entries])
        linear.domain.extend((lower[row], above[row]))
    weighted = np.flatnonzero(objective)
    proto.objective.vars.extend(weighted.tolist())
    proto.objective.coeffs.extend(objective[weighted].tolist())


SOLVERS: dict[str, Solver] = {"highs": highs, "cp-sat": cp_sat}
FAR = 2**40
"""Stands for infinity in CP-SAT, which wants whole numbers; no row's sum comes near it."""


def row_starts(row: Ints, rows: int) -> Ints:
    """Where each row's entries start, and where the last one's end."""
    return np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])


def whole(bound: float) -> int:
    """Round up a bound on a sum of non-negative whole numbers, allowing for the solver's tolerance."""
    return 0 if not np.isfinite(bound) else max(0, int(np.ceil(bound - 1e-6)))
