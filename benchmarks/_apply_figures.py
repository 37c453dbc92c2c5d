"""The seed's client experiment (IPITT §VI-C, Figure 6 a-j): both plans on live overlays, in three sweeps.

Into the folder: `runs.csv` with one row a run, the pictures, `seed_figures.csv` with what IPITT prints
beside what was measured. A run that stands in `runs.csv` is not repeated, and plans that were found are kept:
the sweep can be stopped and started again.
"""

import argparse
import json
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks._apply_figures_run import STATE, topologies
from benchmarks._table import Line
from rich.console import Console
from rich.progress import Progress

from regraft.lab.ipitt_execution import (
    CENTRE,
    DONE,
    OURS,
    PLANNERS,
    THEIRS,
    Execution,
    Point,
    Rows,
    Sweeps,
    Trial,
    executions,
)
from regraft.lab.ipitt_execution_printed import (
    Axis,
    means,
    more_latency,
    percent_shorter,
)
from regraft.lab.limited_process import run_limited
from regraft.lab.workload import SHAPES
from regraft.model import Infeasible, Limits
from regraft.model.plan_files import write_plan
from regraft.plan import make_plan

FULL = Sweeps((20, 60, 100, 150), (5, 10, 20, 30), (1_000, 2_500, 5_000))
QUICK = Sweeps((20,), (10, 20), (100, 200), Point(20, 20, 100))
FAST_SECONDS = 2.0
RUN_SECONDS = 240.0
MEMORY_MB = 16_000.0
AXES: tuple[Axis, ...] = ("brokers", "change", "subscribers")


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("--part figures", "The seed's client experiment: it takes long.")
    group.add_argument("--quick", action="store_true", help="20 brokers, 100 and 200 subscribers")
    group.add_argument("--topologies", type=int, default=1, help="how many of IPITT's twelve (1)")
    group.add_argument("--subscribers", type=int, action="append", help="instead of 1,000, 2,500, 5,000")
    group.add_argument("--folder", type=Path, default=Path("out/lab/ipitt-execution"), help="for all results")


def figures(arguments: argparse.Namespace, folder: Path) -> Iterator[Line]:
    """The part of `scripts/bench apply`."""
    sweeps = QUICK if arguments.quick else FULL
    if arguments.subscribers:
        sweeps = sweeps._replace(subscribers=arguments.subscribers)
    out: Path = arguments.folder / ("quick" if arguments.quick else "full")
    rows = sweep(sweeps, [str(shape) for shape in SHAPES[: arguments.topologies]], out, arguments.search)
    # Loaded when it is needed: the pictures' library is no part of what the other parts measure.
    from benchmarks._apply_figures_write import write  # noqa: PLC0415

    write(out, rows, sweeps.centre)
    yield from lines(rows, sweeps.centre)


# Running


def sweep(sweeps: Sweeps, shapes: Sequence[str], out: Path, search: float) -> Rows:
    """Plans first: planning is not to disturb a run. Who ends the sweep ends the run that is under way."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    (out / "plans").mkdir(parents=True, exist_ok=True)
    records = executions(out / "runs.csv")
    wanted = list(sweeps.trials(shapes))
    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task("", total=2 * len(wanted))
        for trial in wanted:
            progress.update(bar, description=f"planning {trial.name}")
            planned(trial, out, search)
            progress.advance(bar)
        for trial in wanted:
            progress.update(bar, description=trial.name)
            if trial not in records.rows:
                records.add(trial, run_one(trial, out, search))
            progress.advance(bar)
    return {trial: records.rows[trial] for trial in wanted}


def planned(trial: Trial, out: Path, search: float) -> tuple[Path | None, float, str]:
    """The file of the plan, the seconds that it took to find, or why there is none; made once."""
    name = f"{trial.planner}-{trial.brokers}-{trial.change}-{trial.topology}"
    plan, about = out / "plans" / f"{name}.json", out / "plans" / f"{name}.seconds.json"
    if not about.exists():
        begun = time.monotonic()
        limit = FAST_SECONDS if trial.planner == OURS else search
        found = make_plan(*topologies(trial), Limits(time_limit=limit), trial.planner)
        reason = found.reason if isinstance(found, Infeasible) else ""
        if not isinstance(found, Infeasible):
            write_plan(found, plan)
        about.write_text(json.dumps([time.monotonic() - begun, reason]))
    seconds, reason = json.loads(about.read_text())
    return None if reason else plan, seconds, reason


def run_one(trial: Trial, out: Path, search: float) -> Execution:
    """In a process of its own; whatever it started ends with it."""
    plan, planning, reason = planned(trial, out, search)
    if plan is None:
        return Execution("no plan", reason, planning_s=planning)
    place = out / "runs" / trial.name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    (place / "trial.json").write_text(json.dumps(trial))
    shutil.copyfile(plan, place / "plan.json")
    result = place / "execution.json"
    command = [sys.executable, "-m", "benchmarks._apply_figures_run", str(place)]
    with (place / "log").open("w+") as log:
        try:
            limit, _, _ = run_limited(command, log, log, RUN_SECONDS, MEMORY_MB)
        finally:
            shutil.rmtree(place / STATE, ignore_errors=True)
        if not result.exists():
            log.seek(0)
            said = log.read().strip().splitlines()
            return Execution("failed", limit or (said[-1] if said else "no output"), planning_s=planning)
    return Execution(**json.loads(result.read_text()))._replace(planning_s=planning)


# The table


def lines(rows: Rows, centre: Point = CENTRE) -> Iterator[Line]:
    for axis in AXES:
        yield from _of_axis(axis, rows, centre)
    done = [row for row in rows.values() if row.status == DONE]
    counts = {
        name: sum(getattr(row, name) or 0 for row in done)
        for name in ("due", "lost", "repeated", "unwanted", "reordered")
    }
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    clean = all(row.clean for row in done)
    yield Line(f"all {len(done)} runs together", "0 lost", told, clean if done else None, counts)
    for trial, row in rows.items():
        if row.status != DONE:
            yield Line(trial.name, "the goal is reached", f"{row.status}: {row.reason}", None, {})


def _of_axis(axis: Axis, rows: Rows, centre: Point) -> Iterator[Line]:
    held = " / ".join(f"{getattr(centre, each)} {each}" for each in AXES if each != axis)
    shorter = percent_shorter(axis, rows, centre)
    seed = {"brokers": "seed: up to 55 %", "change": "seed: up to 60 %", "subscribers": "-"}[axis]
    ours, theirs = (means(axis, rows, planner, "execution_s", centre) for planner in (OURS, THEIRS))
    told = "; ".join(
        f"{point:,}: {ours[point]:.2f} s, {theirs[point]:.2f} s ({percent:.0f} %)"
        for point, percent in shorter.items()
    )
    half = all(percent >= 50 for percent in shorter.values()) if shorter else None
    what = f"execution shorter than best-first's plan, by {axis} ({held})"
    yield Line(what, f"<= half ({seed})", told, half, {"percent": shorter})
    seed = {"brokers": "seed: up to 2 s", "change": "seed: up to 2.2 s", "subscribers": "-"}[axis]
    more = {planner: more_latency(axis, rows, planner, centre) for planner in PLANNERS}
    told = "; ".join(
        f"{point:,}: {ms:+.0f} ms"
        + (f" (best-first {more[THEIRS][point]:+.0f})" if point in more[THEIRS] else "")
        for point, ms in more[OURS].items()
    )
    small = all(ms <= 200 for ms in more[OURS].values()) if more[OURS] else None
    yield Line(f"p99 of affected above unaffected, by {axis}", f"<= 200 ms ({seed})", told, small, more)
    queue = {planner: means(axis, rows, planner, "queue_p99", centre) for planner in PLANNERS}
    told = "; ".join(f"{point:,}: {held:.0f}" for point, held in queue[OURS].items())
    wanted = "seed: +110 % from 1,000 to 5,000" if axis == "subscribers" else "seed: no growth"
    yield Line(f"queue growth over a shift, p99, publications, by {axis}", wanted, told, None, queue)
