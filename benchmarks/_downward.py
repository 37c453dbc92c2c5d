"""Fast Downward on the same instances, written as PDDL: how long it takes, and its plan replayed.

The planner ships in the package `up-fast-downward`; only its files are used, through its own driver.
"""

import importlib.util
import math
import resource
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from regraft.lab.pddl import ENCODINGS, Encoding, packed, problem_text, read_plan
from regraft.lab.process import run_limited
from regraft.model import Bounds, Limits, Plan, Topology
from regraft.plan.verify import verify

SEARCHES = {
    "lama-first": ["--alias", "lama-first"],
    "lazy greedy, ff": ["--search", "let(h, ff(), lazy_greedy([h], preferred=[h]))"],
    "lazy greedy, cea": ["--search", "let(h, cea(), lazy_greedy([h], preferred=[h]))"],
    "eager greedy, add": ["--search", "let(h, add(), eager_greedy([h], preferred=[h]))"],
}
MEMORY = "16G"


class Configuration(NamedTuple):
    encoding: Encoding
    search: str

    def __str__(self) -> str:
        return f"{self.encoding.name}, {self.search}"


CONFIGURATIONS = tuple(Configuration(encoding, search) for encoding in ENCODINGS for search in SEARCHES)


class General(NamedTuple):
    """A general planner's answer: `steps` after its shifts were packed into parallel steps."""

    seconds: float
    cpu_seconds: float
    actions: int
    steps: int


def fast_downward(
    initial: Topology, goal: Topology, configuration: Configuration, time_limit: float
) -> General | str:
    """Run it once; a string says why there is no plan."""
    options = SEARCHES[configuration.search]
    before, after = (options, []) if options[0] == "--alias" else ([], options)
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        (directory / "domain.pddl").write_text(configuration.encoding.domain)
        (directory / "problem.pddl").write_text(problem_text(initial, goal, configuration.encoding))
        limits = ["--overall-time-limit", f"{max(1, round(time_limit))}s", "--overall-memory-limit", MEMORY]
        files = ["--plan-file", "plan", *before, "domain.pddl", "problem.pddl", *after]
        command = [sys.executable, str(_driver()), *limits, *files]
        spent = _children_seconds()
        with (directory / "out").open("w+") as output, (directory / "err").open("w+") as errors:
            ended = run_limited(command, output, errors, time_limit + 10.0, math.inf, directory)
        if ended.limit is not None:
            return ended.limit
        if not (directory / "plan").exists():
            lines = (directory / "out").read_text().splitlines()
            return next((line for line in reversed(lines) if "limit" in line or "memory" in line), "no plan")
        steps = read_plan((directory / "plan").read_text(), initial, configuration.encoding)
    plan = Plan("tree", initial.sha256, goal.sha256, packed(steps), str(configuration), Bounds(0, 0))
    verify(plan, initial, goal, Limits())
    return General(ended.seconds, _children_seconds() - spent, plan.actions, len(plan.steps))


def _driver() -> Path:
    found = importlib.util.find_spec("up_fast_downward")
    if found is None or not found.submodule_search_locations:
        sys.exit("bench: Fast Downward is not installed: scripts/setup --bench")
    return Path(found.submodule_search_locations[0]) / "downward" / "fast-downward.py"


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
