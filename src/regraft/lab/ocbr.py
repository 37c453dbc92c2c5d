"""OCBR re-run: how much the published algorithm saves, and what it leaves to a global search.

The paper prints no measurements (OCBR §5 refers to a report), so this experiment answers the questions that
it asks (§3.1, §5): does every local step lower the global cost, where does that end, and how does it depend
on the size of the network and on how local the traffic is? The global search and the lower bound are given
for comparison. Writes `runs.csv`, `steps.csv` and a picture of each.
"""

import csv
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import matplotlib as mpl

mpl.use("Agg")
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from regraft.design.ocbr import Problem, cost_of
from regraft.design.ocbr.bound import lower_bound
from regraft.design.ocbr.neighbourhoods import by_neighbourhoods
from regraft.lab.ocbr_timed import Clock, searched, within_seconds
from regraft.lab.ocbr_workload import geographic, random_tree

SIZES = (20, 50, 100, 200, 500)
LOCAL = (0, 70, 100)
"""Percentages of classes whose members are neighbours on the map."""
PER_BROKER = 10


class Row(NamedTuple):
    """One network, beginning with a random tree; costs are fractions of that tree's cost."""

    size: int
    local: int
    seed: int
    neighbourhoods: float
    global_search: float
    bound: float
    steps: int
    rounds: int
    seconds: float


def run(
    out: Path,
    *,
    sizes: Sequence[int] = SIZES,
    local: Sequence[int] = LOCAL,
    seeds: int = 3,
    time_limit: float = 10.0,
) -> dict[str, int]:
    """Measure, write tables and pictures; returns the numbers of runs, traces, and traces that only fall."""
    out.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    rows: list[Row] = []
    traces: dict[tuple[int, int], tuple[float, ...]] = {}
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("OCBR", total=len(sizes) * len(local) * seeds)
        for size in sizes:
            for share in local:
                for seed in range(seeds):
                    progress.update(bar, description=f"{size} brokers, {share} % local")
                    row, trace = measured(size, share, seed, time_limit)
                    rows.append(row)
                    traces.setdefault((size, share), trace)
                    progress.advance(bar)
    _write(out / "runs.csv", Row._fields, rows)
    steps = [(*key, step, cost) for key, trace in traces.items() for step, cost in enumerate(trace)]
    _write(out / "steps.csv", ("size", "local", "step", "cost"), steps)
    draw_sizes(rows, out / "sizes.png")
    draw_steps(traces, out / "steps.png")
    falling = sum(all(b < a for a, b in pairwise(t)) for t in traces.values())
    return {"runs": len(rows), "traces": len(traces), "falling traces": falling}


def measured(size: int, local: int, seed: int, time_limit: float) -> tuple[Row, tuple[float, ...]]:
    """One network: the neighbourhoods until their fixpoint, the global search, and the lower bound."""
    instance = geographic(size, PER_BROKER * size, seed, near=10, local=local / 100)
    problem = Problem.of(None, instance.traffic, instance.network)
    start = problem.parents(random_tree(instance.network, seed))
    before = cost_of(problem, start).total
    clock = Clock()
    end = by_neighbourhoods(problem, start, before, within_seconds(60 * time_limit), seed=seed)
    spent = clock.seconds
    best, _ = searched(problem, start, time_limit, seed)
    bound = lower_bound(problem).value
    row = Row(
        size,
        local,
        seed,
        round(end.cost / before, 4),
        round(best / before, 4),
        round(bound / before, 4),
        len(end.trace) - 1,
        end.rounds,
        round(spent, 3),
    )
    return row, tuple(cost / before for cost in end.trace)


def _write(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(header)
        table.writerows(rows)


def draw_sizes(rows: Sequence[Row], path: Path) -> None:
    """Mean cost over the seeds, by size: one panel for each locality."""
    shares = sorted({row.local for row in rows})
    figure = Figure(figsize=(4 * len(shares), 3.8), layout="constrained")
    for place, share in enumerate(shares):
        axes = figure.add_subplot(1, len(shares), place + 1)
        sizes = sorted({row.size for row in rows if row.local == share})
        for name, mark in (("neighbourhoods", "o"), ("global_search", "s"), ("bound", "_")):
            means = [
                fmean(getattr(row, name) for row in rows if (row.size, row.local) == (size, share))
                for size in sizes
            ]
            axes.plot(sizes, means, marker=mark, label=name.replace("_", " "))
        axes.set(title=f"{share} % of the classes local", xlabel="brokers", ylim=(0, 1), xscale="log")
        axes.set_ylabel("cost / cost of a random tree")
        axes.legend(frameon=False)
    figure.savefig(path, dpi=130)


def draw_steps(traces: dict[tuple[int, int], tuple[float, ...]], path: Path) -> None:
    """The global cost after every accepted local step: it only falls (§3.1)."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for (size, share), trace in traces.items():
        axes.plot([step / max(1, len(trace) - 1) for step in range(len(trace))], trace, lw=1,
                  label=f"{size} brokers, {share} % local")  # fmt: skip
    axes.set(xlabel="accepted steps, of all", ylabel="cost / cost before", ylim=(0, 1.02))
    axes.legend(frameon=False, fontsize=6.5, ncols=2)
    figure.savefig(path, dpi=130)
