"""The papers' experiments, re-run, and the workloads they run on. Each runs as `regraft lab NAME`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class Experiment(NamedTuple):
    """`run(out, **options)` writes its tables and pictures into the folder `out`."""

    summary: str
    run: Callable[..., None]


def _ipitt_planning(out: Path, **options: Any) -> None:
    # Loaded when it is run: the pictures' library would count in the memory of every measured process.
    from regraft.lab import ipitt_planning  # noqa: PLC0415

    ipitt_planning.run(out, **options)


EXPERIMENTS = {
    "ipitt-planning": Experiment(
        "planning time, actions and steps of every planner: IPITT Figure 5 a-f and Table I", _ipitt_planning
    ),
}

__all__ = ["EXPERIMENTS", "Experiment"]
