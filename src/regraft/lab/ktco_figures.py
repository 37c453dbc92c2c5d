"""kTCO §VIII and Appendix D: Figures 3–6 and 8, with the paper's algorithms and ours.

Writes one row per point into `runs.csv`, and a table and a picture per figure. kTCO's pictures hold no
numbers that could be compared; what its text says about them is in `seed_figures.csv`, and below our
pictures, beside what was measured. A run that was interrupted continues where it was.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from regraft.lab.ktco_plots import Curves, Panel, draw
from regraft.lab.ktco_printed import beside
from regraft.lab.ktco_trial import OURS, Measured, Trial, measure
from regraft.lab.ktco_workload import DISTRIBUTIONS
from regraft.lab.records import Records, write_table

NODES = (100, 200, 300, 400, 500, 600, 700, 800, 900, 1000)
TOPICS = (100, 200, 300, 400, 500, 600, 700, 800, 900, 1000)
SUBSCRIPTIONS = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
FIXED = (800, 200, 30)
"""Nodes, topics and subscriptions where a figure does not vary them."""
AXES = {"figure_3": "nodes", "figure_4": "topics", "figure_5": "subscriptions"}
KS = (2, 4, 6, 8, 10)
"""The values of k that kTCO plots; it measured HararyPT from 2 to 14."""
CURVES = (
    ("GM", 1),
    ("GM2", 2),
    ("CyclePT", 2),
    *(("HararyPT", k) for k in range(2, 15)),
    *((OURS, k) for k in (1, *KS)),
)
WITH_DIAMETERS = (("GM", 1), ("GM2", 2), (OURS, 1), (OURS, 2))
REPEATS = 4
REPEATED = ("GM", "GM2")
"""Their diameters differ much from one workload to the next; degrees hardly do."""
UNFINISHED = "runs.unfinished.csv"
Points = Mapping[Trial, Measured]


def figures(
    out: Path,
    *,
    nodes: Sequence[int] = NODES,
    topics: Sequence[int] = TOPICS,
    subscriptions: Sequence[int] = SUBSCRIPTIONS,
    distributions: Sequence[str] = DISTRIBUTIONS,
    repeats: int = REPEATS,
    fixed: tuple[int, int, int] = FIXED,
) -> Points:
    """Measure every point of every figure, write the tables, draw the pictures."""
    out.mkdir(parents=True, exist_ok=True)
    wanted = {
        "figure_3": list(points("nodes", nodes, fixed, distributions, repeats)),
        "figure_4": list(points("topics", topics, fixed, distributions, repeats)),
        "figure_5": list(points("subscriptions", subscriptions, fixed, distributions, repeats)),
    }
    records = Records(out / UNFINISHED, Trial, Measured, digits=None)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("designing", total=sum(map(len, wanted.values())))
        for name, trials in wanted.items():
            for trial in trials:
                progress.update(bar, description=f"{name}: {trial.algorithm}, k = {trial.k}")
                diameters = name == "figure_3" and (trial.algorithm, trial.k) in WITH_DIAMETERS
                row = records.rows.get(trial)
                if row is None or (diameters and not row.largest_diameter):
                    records.add(trial, measure(trial, diameters))
                progress.advance(bar)
    (out / UNFINISHED).replace(out / "runs.csv")  # the next run measures everything again
    rows = {trial: records.rows[trial] for trials in wanted.values() for trial in trials}
    write_all(out, {name: {trial: rows[trial] for trial in trials} for name, trials in wanted.items()})
    return rows


def points(
    axis: str, values: Sequence[int], fixed: tuple[int, int, int], distributions: Sequence[str], repeats: int
) -> Iterator[Trial]:
    place = ("nodes", "topics", "subscriptions").index(axis)
    for distribution in distributions:
        for value in values:
            nodes, topics, subscriptions = (value if at == place else fixed[at] for at in range(3))
            for algorithm, k in CURVES:
                for seed in range(repeats if algorithm in REPEATED else 1):
                    yield Trial(distribution, nodes, topics, min(subscriptions, topics), algorithm, k, seed)


def write_all(out: Path, of_figure: Mapping[str, Points]) -> None:
    """Tables and pictures; below each picture stands what kTCO says about it."""
    every = {trial: row for rows in of_figure.values() for trial, row in rows.items()}
    found = list(beside(every))
    notes = {number: [str(each) for each in found if each.printed.figure == number] for number in range(3, 9)}
    for name, axis in AXES.items():
        rows = of_figure[name]
        panels = [
            Panel(distribution, "degree", curves(rows, distribution, axis, "degree"))
            for distribution in dict.fromkeys(trial.distribution for trial in rows)
        ]
        draw(
            out / f"{name}.png",
            f"kTCO Figure {name[-1]}: average node degree",
            axis,
            panels,
            notes[int(name[-1])],
        )
        write_table(out / f"{name}.csv", table(rows, axis, ("degree", "seconds")))
    far = {trial: row for trial, row in of_figure["figure_3"].items() if row.largest_diameter}
    write_table(out / "figures_6_and_8.csv", table(far, "nodes", ("largest_diameter", "average_diameter")))
    for number, distributions in ((6, ["unif"]), (8, [*dict.fromkeys(trial.distribution for trial in far)])):
        panels = [
            Panel(distribution, quantity, curves(far, distribution, "nodes", quantity))
            for quantity in ("largest_diameter", "average_diameter")
            for distribution in distributions
        ]
        draw(
            out / f"figure_{number}.png",
            f"kTCO Figure {number}: topic diameters",
            "nodes",
            panels,
            notes[number],
        )
    columns = ("figure", "section", "says", "seed", "measured")
    said = [
        (p.figure or "all", f"kTCO {p.section}", p.says, p.value, "" if here is None else here)
        for p, here in found
    ]
    write_table(out / "seed_figures.csv", [columns, *said])


def curves(rows: Points, distribution: str, axis: str, quantity: str) -> Curves:
    """For each algorithm and k that kTCO plots: the mean over the workloads, at each point."""
    values: dict[tuple[str, int], dict[int, list[float]]] = {}
    for trial, row in rows.items():
        if trial.distribution == distribution and (trial.algorithm != "HararyPT" or trial.k in KS):
            curve = values.setdefault((trial.algorithm, trial.k), {})
            curve.setdefault(getattr(trial, axis), []).append(float(getattr(row, quantity)))
    return {key: {x: fmean(all) for x, all in sorted(curve.items())} for key, curve in values.items()}


def table(rows: Points, axis: str, quantities: Sequence[str]) -> list[Sequence[object]]:
    """A line per distribution, point and algorithm: the means over the workloads."""
    same: dict[Trial, list[Measured]] = {}
    for trial, row in rows.items():
        same.setdefault(trial._replace(seed=0), []).append(row)
    lines: list[Sequence[object]] = [("distribution", axis, "algorithm", "k", "workloads", *quantities)]
    for trial, found in same.items():
        means = [fmean(getattr(row, quantity) for row in found) for quantity in quantities]
        lines.append((trial.distribution, getattr(trial, axis), trial.algorithm, trial.k, len(found), *means))
    return lines
