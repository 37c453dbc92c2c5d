"""One planner on one pair of trees, in a process of its own: time, plan, peak memory.

Each trial has its own process because a solver may hang, crash or use up the machine's memory: then the
experiment records which, and continues. Time is measured inside the process, after small plans as warm-up, so
that loading and compiling count for no planner; memory is the high-water mark of the whole process.
"""

import json
import sys
import tempfile
from typing import IO, Literal, NamedTuple

from regraft.lab.limited_process import peak_mb, run_limited
from regraft.lab.workload import SHAPES, trees
from regraft.model import Infeasible, Limits, Plan
from regraft.model.limits import Minimise
from regraft.plan import make_plan
from regraft.plan.warm import warm
from regraft.plan.watch import Progress, Watch

Status = Literal["found", "none found", "out of time", "out of memory", "failed", "not tried"]


class Trial(NamedTuple):
    """What to run. `topology` is the name of one of the twelve shapes, `change` a percentage.

    `only_first` stops a search that would use up its time at the first plan that it reports.
    """

    planner: str
    size: int
    change: int
    topology: str
    time_limit: float
    minimise: Minimise = "steps"
    only_first: bool = False


class Measurement(NamedTuple):
    """The result; the plan's fields are None unless a plan was found.

    `best_seconds` is when the returned plan was found: a search that runs until its limit may have
    had it long before (IPITT §VI-C records this time for the best-first search).
    """

    status: Status
    seconds: float | None = None
    best_seconds: float | None = None
    steps: int | None = None
    actions: int | None = None
    bound_steps: int | None = None
    bound_actions: int | None = None
    proven: bool | None = None
    peak_mb: float | None = None
    reason: str = ""


class Allowance(NamedTuple):
    """A trial's process is ended `grace` seconds after the planner's own limit, or above `memory_mb`."""

    grace: float = 180.0
    memory_mb: float = 16_000.0


ALLOWANCE = Allowance()


def measure(trial: Trial, allowance: Allowance = ALLOWANCE) -> Measurement:
    """Run the trial in a new process and wait for it."""
    command = [sys.executable, "-m", "regraft.lab.trial", json.dumps(trial)]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        seconds = trial.time_limit + allowance.grace
        limit, peak, _ = run_limited(command, output, errors, seconds, allowance.memory_mb)
        if limit is not None:
            return Measurement(limit, peak_mb=peak, reason=f"ended from outside: {limit}")
        text = _from_start(output).strip()
        if not text:
            lines = _from_start(errors).strip().splitlines()
            return Measurement("failed", peak_mb=peak, reason=lines[-1] if lines else "no output")
        return Measurement(*json.loads(text.splitlines()[-1]))


def attempt(trial: Trial) -> Measurement:
    """Run the trial in this process."""
    shape = next(shape for shape in SHAPES if str(shape) == trial.topology)
    limits = Limits(minimise=trial.minimise, time_limit=trial.time_limit)
    warm()
    make_plan(*trees(6, 0.4, shape), Limits(minimise=trial.minimise, time_limit=1.0), trial.planner)
    current, goal = trees(trial.size, trial.change / 100, shape)
    improved: list[tuple[int, int, float]] = []

    def note(progress: Progress) -> None:
        if progress.steps is not None and progress.actions is not None:
            size = (progress.steps, progress.actions)
            if not improved or improved[-1][:2] != size:
                improved.append((*size, watch.elapsed))
            if trial.only_first:
                watch.stop()

    watch = Watch(trial.time_limit, report=note)
    answer = make_plan(current, goal, limits, trial.planner, watch)
    seconds = watch.elapsed
    if isinstance(answer, Infeasible):
        return Measurement("none found", seconds, peak_mb=peak_mb(), reason=answer.reason)
    found = [at for steps, actions, at in improved if (steps, actions) == (len(answer.steps), answer.actions)]
    return _measured(answer, seconds, found[0] if found else seconds)


def _measured(plan: Plan, seconds: float, best_seconds: float) -> Measurement:
    size = (len(plan.steps), plan.actions)
    return Measurement(
        "found",
        seconds,
        best_seconds,
        *size,
        *plan.bounds,
        proven=plan.optimal or (plan.proof is not None and (plan.proof.steps, plan.proof.actions) == size),
        peak_mb=peak_mb(),
    )


def _from_start(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


if __name__ == "__main__":
    print(json.dumps(attempt(Trial(*json.loads(sys.argv[1])))))
