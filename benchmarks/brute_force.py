"""Exact planner against brute force: every pair of trees on a few brokers, steps and actions.

The suite checks all pairs up to 5 brokers and a sample on 6; this checks all of them, one goal of
each shape with every labelled tree as the initial one. Exit code 1 if they ever disagree.
"""

import argparse
import sys
from itertools import product
from typing import get_args

from benchmarks._table import Line, show
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from regraft.model import Infeasible, Limits
from regraft.model.limits import Minimise
from regraft.plan import PLANNERS
from regraft.plan.problem import Problem
from regraft.plan.watch import Watch
from regraft.testing.brute_force import brute_force
from regraft.testing.trees import all_trees, tree_shapes

FIRST = [name for name in get_args(Minimise) if name in ("steps", "actions")]


def disagreement(task: Problem, limits: Limits) -> str | None:
    """What the planner says and what is true, if they differ."""
    front = brute_force(task, limits)
    best = front[0] if limits.minimise == "steps" else front[-1]
    answer = PLANNERS["exact"](task, limits, Watch(limits.time_limit))
    if isinstance(answer, Infeasible):
        return f"{answer.reason}, brute force {best}"
    said = len(answer.steps), sum(map(len, answer.steps))
    return (
        None
        if said == best == answer.bounds
        else f"{said}, bounds {tuple(answer.bounds)}, brute force {best}"
    )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--size", type=int, default=6, choices=range(2, 8), help="brokers (default 6)")
    options.add_argument("--minimise", choices=FIRST, action="append", help="default: both")
    chosen = options.parse_args()
    tasks = list(product(chosen.minimise or FIRST, tree_shapes(chosen.size), all_trees(chosen.size)))
    ids = tuple(f"b{number}" for number in range(chosen.size))
    wrong = 0
    columns = (
        *Progress.get_default_columns()[:2],
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        for minimise, goal, initial in progress.track(tasks, description=f"{chosen.size} brokers"):
            fault = disagreement(Problem(ids, initial, goal), Limits(minimise=minimise, time_limit=60))
            if fault:
                wrong += 1
                print(f"{minimise}: {sorted(initial)} -> {sorted(goal)}: {fault}")
    what = f"exact planner and brute force agree: pairs of trees on {chosen.size} brokers"
    right = f"{len(tasks) - wrong:,} of {len(tasks):,}"
    show([Line(what, "all", right, not wrong, {"tasks": len(tasks), "wrong": wrong})], "brute force", None)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
