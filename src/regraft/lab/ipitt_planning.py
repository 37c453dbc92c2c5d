"""IPITT §VI-C, planning: Figure 5 a-f and Table I, with the paper's planners and ours.

Every run is one row of `runs.csv`, written as soon as it ends; a run that is in the file already is not
repeated, so the experiment can be stopped and started again. The tables and pictures are made from the rows.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from regraft.lab.ipitt_tables import write_tables
from regraft.lab.records import Records
from regraft.lab.sweeps import CENTRE_CHANGE, CENTRE_SIZE, FIRST_PLAN, label
from regraft.lab.trial import Measurement, Trial, measure
from regraft.lab.workload import SHAPES

SIZES = (20, 30, 40, 50, 60, 70, 80, 90, 100, 120, 150)
CHANGES = (5, 10, 15, 20, 25, 30)
PLANNERS = (
    FIRST_PLAN,
    "fast",
    "exact-each-path",
    "exact",
    "ip-each-path",
    "ip-all-paths",
    "ip-naive",
    "best-first",
)
IMPROVE = 2.0
"""Seconds for the fast planner, which uses all of its time unless it proves its plan."""


def run(
    out: Path,
    *,
    time_limit: float = 600.0,
    sizes: Sequence[int] = SIZES,
    ratios: Sequence[int] = CHANGES,
    topologies: int = len(SHAPES),
    planners: Sequence[str] = PLANNERS,
) -> dict[str, int]:
    """Measure what is not measured yet, then write the tables; returns the number of runs by status."""
    out.mkdir(parents=True, exist_ok=True)
    records = Records(out / "runs.csv", Trial, Measurement)
    sweeps = [
        [(size, CENTRE_CHANGE, planner) for size in sorted(sizes) for planner in planners],
        [(CENTRE_SIZE, ratio, planner) for ratio in sorted(ratios) for planner in planners],
    ]
    wanted: set[Trial] = set()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("planning", total=sum(map(len, sweeps)) * topologies)
        for points in sweeps:
            for trial in trials(points, records, time_limit, topologies):
                wanted.add(trial)
                progress.update(bar, description=f"{label(trial)}, {trial.size} brokers, {trial.change} %")
                if trial not in records.rows:
                    records.add(trial, measure(trial))
                progress.advance(bar)
    rows = {trial: records.rows[trial] for trial in wanted}
    write_tables(out, rows, planners)
    return dict(Counter(row.status for row in rows.values()))


def trials(
    points: Sequence[tuple[int, int, str]],
    records: Records[Trial, Measurement],
    time_limit: float,
    topologies: int,
) -> Iterator[Trial]:
    """The trials to run, point by point.

    A planner that solved no topology at one point is not tried at the harder ones; those trials are
    recorded as not tried, and still yielded.
    """
    gave_up: set[str] = set()
    for size, change, planner in points:
        name, seconds = with_limit(planner, time_limit)
        at = [Trial(name, size, change, str(shape), seconds) for shape in SHAPES[:topologies]]
        for trial in at:
            if planner in gave_up and trial not in records.rows:
                records.add(trial, Measurement("not tried", reason="no topology solved at an easier point"))
            yield trial
        if all(records.rows[trial].status != "found" for trial in at):
            gave_up.add(planner)


def with_limit(planner: str, time_limit: float) -> tuple[str, float]:
    """The planner's name and its time limit: the fast planner is stopped early, the others are not."""
    if planner == FIRST_PLAN:
        return "fast", 0.0
    return planner, min(time_limit, IMPROVE) if planner == "fast" else time_limit
