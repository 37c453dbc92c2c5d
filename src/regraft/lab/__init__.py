"""The papers' experiments, re-run, and the workloads they run on. Each runs as `regraft lab NAME`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class Option(NamedTuple):
    """A keyword argument of `run`; `parse` turns its text into a value, or raises ValueError."""

    name: str
    parse: Callable[[str], Any]
    help: str


class Experiment(NamedTuple):
    """`run(out, **options)` writes tables and pictures into the folder `out`, and returns counts to show."""

    summary: str
    run: Callable[..., dict[str, int]]
    options: tuple[Option, ...] = ()


def whole_numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(",") if number)


def names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _ipitt_planning(out: Path, **options: Any) -> dict[str, int]:
    # Imported here because each trial runs in a process whose memory is measured, and matplotlib would count.
    from regraft.lab import ipitt_planning  # noqa: PLC0415

    return ipitt_planning.run(out, **options)


def _ocbr(out: Path, **options: Any) -> dict[str, int]:
    from regraft.lab import ocbr  # noqa: PLC0415

    return ocbr.run(out, **options)


def _ktco(out: Path, **options: Any) -> dict[str, int]:
    from regraft.lab import ktco_figures  # noqa: PLC0415

    return {"points": len(ktco_figures.figures(out, **options))}


EXPERIMENTS = {
    "ipitt-planning": Experiment(
        "planners: time, actions, steps (IPITT Figure 5, Table I)",
        _ipitt_planning,
        (
            Option("time_limit", float, "seconds for each run (600)"),
            Option("sizes", whole_numbers, "overlay sizes of Figure 5 a-c (20,30,...,150)"),
            Option("ratios", whole_numbers, "percentages of changed links of Figure 5 d-f (5,10,...,30)"),
            Option("topologies", int, "how many of the twelve (12)"),
            Option("planners", names, "which planners, separated by commas (all)"),
        ),
    ),
    "ktco": Experiment(
        "mesh designers: degrees, diameters (kTCO Figures 3-6, 8)",
        _ktco,
        (
            Option("nodes", whole_numbers, "numbers of nodes of Figures 3, 6 and 8 (100,200,...,1000)"),
            Option("topics", whole_numbers, "numbers of topics of Figure 4 (100,200,...,1000)"),
            Option("subscriptions", whole_numbers, "subscription sizes of Figure 5 (10,20,...,100)"),
            Option("distributions", names, "which of expo,zipf,unif (all)"),
            Option("repeats", int, "workloads for each point of GM and GM2 (4)"),
        ),
    ),
    "ocbr": Experiment(
        "neighbourhoods beside a global search, a bound (OCBR §3)",
        _ocbr,
        (
            Option("sizes", whole_numbers, "brokers (20,50,100,200,500)"),
            Option("local", whole_numbers, "percentages of local classes (0,70,100)"),
            Option("seeds", int, "networks for each point (3)"),
            Option("time_limit", float, "seconds for each global search (10)"),
        ),
    ),
}

__all__ = ["EXPERIMENTS", "Experiment", "Option"]
