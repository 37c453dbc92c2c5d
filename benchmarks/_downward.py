"""Fast Downward on the same instances, written as PDDL: how long it takes, and its plan replayed.

The planner ships in the package `up-fast-downward`; only its files are used, through its own driver.
"""

import importlib.util
import math
import resource
import sys
import tempfile
from pathlib import Path

from regraft.lab.limited_process import run_limited
from regraft.lab.pddl import ENCODINGS, packed, problem_text, read_plan
from regraft.lab.trial import Measurement, Trial
from regraft.lab.workload import SHAPES, trees
from regraft.model import Bounds, Limits, Plan
from regraft.plan.verify import verify

SEARCHES = {
    "lama-first": ["--alias", "lama-first"],
    "lazy greedy, ff": ["--search", "let(h, ff(), lazy_greedy([h], preferred=[h]))"],
    "eager greedy, add": ["--search", "let(h, add(), eager_greedy([h], preferred=[h]))"],
}
MEMORY = "16G"


NAME = "Fast Downward, "
CONFIGURATIONS = {
    f"{NAME}{encoding.name}, {search}": (encoding, options)
    for encoding in ENCODINGS
    for search, options in SEARCHES.items()
}


def fast_downward(trial: Trial) -> Measurement:
    """Run the configuration that `trial.planner` names, once.

    `steps` counts after its shifts were packed into parallel steps; one after another, as it has
    written them, they are as many steps as actions. `seconds` is from the start of its process to the
    end; `reason` has the processor's seconds, which a busy machine leaves alone.
    """
    encoding, options = CONFIGURATIONS[trial.planner]
    shape = next(shape for shape in SHAPES if str(shape) == trial.topology)
    initial, goal = trees(trial.size, trial.change / 100, shape)
    spent = _children_seconds()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        (directory / "domain.pddl").write_text(encoding.domain)
        (directory / "problem.pddl").write_text(problem_text(initial, goal, encoding))
        with (directory / "out").open("w") as output, (directory / "err").open("w") as errors:
            command = _command(options, trial.time_limit)
            limit, _, seconds = run_limited(command, output, errors, trial.time_limit, math.inf, directory)
        if limit is not None:
            return Measurement(limit)
        if not (directory / "plan").exists():
            return Measurement("none found", seconds, reason=_last_line(directory / "out"))
        steps = packed(read_plan((directory / "plan").read_text(), initial, encoding))
    plan = Plan("tree", initial.sha256, goal.sha256, steps, trial.planner, Bounds(0, 0))
    verify(plan, initial, goal, Limits())
    cpu = f"{_children_seconds() - spent:.1f} s of processor time"
    return Measurement("found", seconds, seconds, len(plan.steps), plan.actions, proven=False, reason=cpu)


def _command(options: list[str], time_limit: float) -> list[str]:
    before, after = (options, []) if options[0] == "--alias" else ([], options)
    limits = ["--overall-time-limit", f"{max(1, round(time_limit))}s", "--overall-memory-limit", MEMORY]
    files = ["--plan-file", "plan", *before, "domain.pddl", "problem.pddl", *after]
    return [sys.executable, str(_driver()), *limits, *files]


def _last_line(path: Path) -> str:
    lines = path.read_text().strip().splitlines()
    return lines[-1] if lines else ""


def _driver() -> Path:
    found = importlib.util.find_spec("up_fast_downward")
    if found is None or not found.submodule_search_locations:
        sys.exit("bench: Fast Downward is not installed: scripts/setup --bench")
    return Path(found.submodule_search_locations[0]) / "downward" / "fast-downward.py"


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
