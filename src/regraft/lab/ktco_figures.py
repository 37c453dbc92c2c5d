"""kTCO §VIII and Appendix D: Figures 3–6 and 8, with the seed's algorithms and ours.

A row per point in `runs.csv`; a table and a picture per figure and distribution. The seed's pictures are not
in its text; what its prose prints of them stands in `seed_figures.csv` beside what was measured.
"""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from regraft.lab.ktco_plots import draw
from regraft.lab.ktco_seed import seed_rows
from regraft.lab.ktco_trial import OURS, Measured, Trial, measure
from regraft.lab.ktco_workload import DISTRIBUTIONS

NODES = (100, 200, 300, 400, 500, 600, 700, 800, 900, 1000)
TOPICS = (100, 200, 300, 400, 500, 600, 700, 800, 900, 1000)
SUBSCRIPTIONS = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
FIXED = (800, 200, 30)
"""Nodes, topics and subscriptions where a figure does not vary them."""
KS = (2, 4, 6, 8, 10)
CURVES = (
    ("GM", 1),
    ("GM2", 2),
    ("CyclePT", 2),
    *(("HararyPT", k) for k in KS),
    *((OURS, k) for k in (1, *KS)),
)
Rows = dict[Trial, Measured]


def run(
    out: Path,
    *,
    nodes: Sequence[int] = NODES,
    topics: Sequence[int] = TOPICS,
    subscriptions: Sequence[int] = SUBSCRIPTIONS,
    distributions: Sequence[str] = DISTRIBUTIONS,
    repeats: int = 1,
    fixed: tuple[int, int, int] = FIXED,
) -> dict[str, int]:
    """Measure every point of every figure, write the tables, draw the pictures."""
    out.mkdir(parents=True, exist_ok=True)
    wanted = {
        "figure_3": list(points("nodes", nodes, fixed, distributions, repeats)),
        "figure_4": list(points("topics", topics, fixed, distributions, repeats)),
        "figure_5": list(points("subscriptions", subscriptions, fixed, distributions, repeats)),
    }
    rows: Rows = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("designing", total=sum(map(len, wanted.values())))
        for name, trials in wanted.items():
            for trial in trials:
                progress.update(bar, description=f"{name}: {trial.algorithm}, k = {trial.k}")
                rows[trial] = measure(
                    trial, diameters=name == "figure_3" and trial.algorithm in ("GM", "GM2", OURS)
                )
                progress.advance(bar)
    write(out / "runs.csv", [(*Trial._fields, *Measured._fields), *((*a, *b) for a, b in rows.items())])
    for name, axis in (("figure_3", "nodes"), ("figure_4", "topics"), ("figure_5", "subscriptions")):
        figure(out, name, axis, "degree", {trial: rows[trial] for trial in wanted[name]})
    diameters = {trial: rows[trial] for trial in wanted["figure_3"] if rows[trial].largest_diameter}
    unif = {trial: row for trial, row in diameters.items() if trial.distribution == "unif"}
    for quantity in ("largest_diameter", "average_diameter"):
        figure(out, f"figure_6_{quantity}", "nodes", quantity, unif)
        figure(out, f"figure_8_{quantity}", "nodes", quantity, diameters)
    write(out / "seed_figures.csv", [("section", "says", "seed", "measured"), *seed_rows(rows)])
    return {"points": len(rows)}


def points(
    axis: str, values: Sequence[int], fixed: tuple[int, int, int], distributions: Sequence[str], repeats: int
) -> Iterator[Trial]:
    place = ("nodes", "topics", "subscriptions").index(axis)
    for distribution in distributions:
        for value in values:
            nodes, topics, subscriptions = (value if at == place else fixed[at] for at in range(3))
            for algorithm, k in CURVES:
                for seed in range(repeats):
                    yield Trial(distribution, nodes, topics, min(subscriptions, topics), algorithm, k, seed)


def figure(out: Path, name: str, axis: str, quantity: str, rows: Rows) -> None:
    """A table over all distributions, a picture for each."""
    table: list[Sequence[object]] = [("distribution", axis, "algorithm", "k", quantity, "seconds")]
    for distribution in dict.fromkeys(trial.distribution for trial in rows):
        curves: dict[tuple[str, int], dict[int, float]] = {}
        for trial in rows:
            if trial.distribution == distribution:
                same = [rows[other] for other in rows if other._replace(seed=0) == trial._replace(seed=0)]
                value = fmean(getattr(row, quantity) for row in same)
                curves.setdefault((trial.algorithm, trial.k), {})[getattr(trial, axis)] = value
                if trial.seed == 0:
                    seconds = fmean(row.seconds for row in same)
                    table.append(
                        (distribution, getattr(trial, axis), trial.algorithm, trial.k, value, seconds)
                    )
        draw(out / f"{name}_{distribution}.png", f"kTCO {name}, {distribution}", axis, quantity, curves)
    write(out / f"{name}.csv", table)


def write(path: Path, table: Sequence[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in table:
            writer.writerow([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row])
