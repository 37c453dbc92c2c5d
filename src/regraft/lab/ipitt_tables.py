"""The tables of the planning experiment: Figure 5 a-f, Table I, IPITT's printed figures beside ours."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, median

from regraft.lab.ipitt_plots import draw
from regraft.lab.ipitt_printed import APPROACH, PRINTED, TABLE_1
from regraft.lab.records import write_table
from regraft.lab.sweeps import CENTRE_CHANGE, CENTRE_SIZE, Axis, Quantity, Rows, on, solved, value
from regraft.lab.workload import SHAPES, trees
from regraft.model import Limits
from regraft.plan.action_sets import ACTION_SETS
from regraft.plan.frame import frame
from regraft.plan.planning_task import planning_task
from regraft.plan.problem import Problem
from regraft.plan.program import Size
from regraft.plan.program import size as program_size

FIGURES: dict[str, tuple[Axis, Quantity]] = {
    "5a": ("size", "seconds"),
    "5b": ("size", "actions"),
    "5c": ("size", "steps"),
    "5d": ("change", "seconds"),
    "5e": ("change", "actions"),
    "5f": ("change", "steps"),
}
SAME_ACTIONS = {"ip-naive": "exact", "ip-all-paths": "exact-all-paths", "ip-each-path": "exact-each-path"}
"""Our planner that proves the least T over the same action set."""


def write_tables(out: Path, rows: Rows, planners: Sequence[str]) -> None:
    for name, (axis, quantity) in FIGURES.items():
        write_table(out / f"figure_{name}.csv", figure_table(rows, axis, quantity, planners))
        draw(name, axis, quantity, rows, planners, out / f"figure_{name}.png")
    write_table(out / "table_1.csv", table_1(rows, planners))
    write_table(out / "seed_figures.csv", printed_table(rows))


def figure_table(
    rows: Rows, axis: Axis, quantity: Quantity, planners: Sequence[str]
) -> Iterable[Sequence[object]]:
    """A row per planner and point, also where nothing was solved: a missing row would look like success."""
    yield (
        axis,
        "planner",
        "solved",
        "topologies",
        f"mean_{quantity}",
        "median",
        "least",
        "most",
        "unsolved_because",
    )
    for planner in planners:
        for point, at in on(axis, rows, planner).items():
            found = sorted(value(*row, quantity) for row in solved(at).items())
            summary = (fmean(found), median(found), found[0], found[-1]) if found else ("",) * 4
            reasons = sorted({row.status for row in at.values() if row.status != "found"})
            yield point, planner, len(found), len(at), *summary, "; ".join(reasons)


def printed_table(rows: Rows) -> Iterable[Sequence[object]]:
    yield "figure", "section", "planner", "seed_name", "quantity", "seed", "measured"
    for figure in PRINTED:
        named = (figure.planner, APPROACH[figure.planner])
        yield (
            f"Figure {figure.figure}",
            figure.section,
            *named,
            figure.says,
            figure.value,
            figure.measured(rows),
        )
    for planner, row in TABLE_1.items():
        for column in ("memory_mb", "actions", "variables", "constraints"):
            printed = getattr(row, column)
            if printed is not None:
                yield "Table I", "IPITT §VI-C", planner, row.approach, column, printed, "see table_1.csv"


def table_1(rows: Rows, planners: Sequence[str]) -> Iterable[Sequence[object]]:
    """Measured memory and the model sizes of Appendix A, as means over the topologies, beside IPITT's."""
    columns = ("memory_mb", "actions", "variables", "constraints")
    yield "planner", "seed_name", "T", *columns, *(f"seed_{column}" for column in columns)
    for planner in planners:
        at = on("size", rows, planner).get(CENTRE_SIZE, {})
        peaks = [row.peak_mb for row in at.values() if row.peak_mb is not None]
        printed = TABLE_1.get(planner)
        sizes = model_sizes(rows, planner) if at else []
        yield (
            planner,
            printed.approach if printed else "",
            _mean([T for T, _ in sizes]),
            _mean(peaks),
            *(_mean([getattr(size, column) for _, size in sizes]) for column in columns[1:]),
            *((getattr(printed, column) if printed else "") for column in columns),
        )


def model_sizes(rows: Rows, planner: str) -> list[tuple[int, Size]]:
    """T and the size of IPITT's program for each topology whose least T is known.

    If the program itself found no plan, our planner over the same actions may know T.
    """
    if planner not in SAME_ACTIONS:
        return []
    lengths: dict[str, int] = {}
    for name in (SAME_ACTIONS[planner], planner):
        for trial, row in solved(on("size", rows, name).get(CENTRE_SIZE, {})).items():
            if row.proven and row.steps is not None:
                lengths[trial.topology] = row.steps
    sizes = []
    for shape in SHAPES:
        if (T := lengths.get(str(shape))) is not None:
            problem = frame(*trees(CENTRE_SIZE, CENTRE_CHANGE / 100, shape), Limits())
            assert isinstance(problem, Problem), "both trees have the same brokers"
            shifts = ACTION_SETS[planner.removeprefix("ip-")](problem)
            sizes.append((T, program_size(planning_task(problem, shifts, every_pair=True), T)))
    return sizes


def _mean(values: Sequence[float]) -> float | str:
    return fmean(values) if values else ""
