"""What the rows of the planning experiment say: means, and comparisons over a sweep.

A sweep follows one axis of Figure 5: the overlay size at 20 % changed links, or the change ratio at
60 brokers. Planners are compared only on topologies that both solved.
"""

from collections.abc import Mapping
from statistics import fmean
from typing import Literal

from regraft.lab.trial import Measurement, Trial

Rows = Mapping[Trial, Measurement]
Axis = Literal["size", "change"]
Quantity = Literal["seconds", "actions", "steps", "peak_mb"]
CENTRE_SIZE, CENTRE_CHANGE = 60, 20
FIRST_PLAN = "fast-first"
"""The fast planner stopped at its first plan: time limit 0."""


def label(trial: Trial) -> str:
    """The name of the curve that the trial belongs to."""
    return FIRST_PLAN if trial.planner == "fast" and trial.time_limit == 0 else trial.planner


def value(trial: Trial, measurement: Measurement, quantity: Quantity) -> float:
    """A row's value. The best-first search runs until its limit: its time is when it found its plan."""
    late = trial.planner == "best-first" and quantity == "seconds"
    return float(getattr(measurement, "best_seconds" if late else quantity) or 0.0)


def on(axis: Axis, rows: Rows, planner: str) -> dict[int, Rows]:
    """The planner's rows at each point of the axis, in ascending order."""
    points: dict[int, dict[Trial, Measurement]] = {}
    for trial, measurement in rows.items():
        centred = trial.change == CENTRE_CHANGE if axis == "size" else trial.size == CENTRE_SIZE
        if label(trial) == planner and centred:
            points.setdefault(getattr(trial, axis), {})[trial] = measurement
    return dict(sorted(points.items()))


def solved(rows: Rows) -> Rows:
    return {trial: measurement for trial, measurement in rows.items() if measurement.status == "found"}


def largest(rows: Rows, axis: Axis, planner: str) -> float | None:
    """The largest point at which any topology was solved."""
    return max((point for point, at in on(axis, rows, planner).items() if solved(at)), default=None)


def mean_at(rows: Rows, axis: Axis, point: int, planner: str, quantity: Quantity = "seconds") -> float | None:
    values = [value(*row, quantity) for row in solved(on(axis, rows, planner).get(point, {})).items()]
    return fmean(values) if values else None


def ratios(rows: Rows, axis: Axis, planner: str, than: str, quantity: Quantity) -> dict[int, float]:
    """planner / than at every point, as a ratio of means over the topologies that both solved."""
    ours, theirs = on(axis, rows, planner), on(axis, rows, than)
    found: dict[int, float] = {}
    for point in ours.keys() & theirs.keys():
        one, other = (
            {trial.topology: value(trial, row, quantity) for trial, row in solved(rows[point]).items()}
            for rows in (ours, theirs)
        )
        both = one.keys() & other.keys()
        if both and (below := fmean(other[topology] for topology in both)):
            found[point] = fmean(one[topology] for topology in both) / below
    return dict(sorted(found.items()))


def most_above(rows: Rows, axis: Axis, planner: str, than: str, quantity: Quantity) -> float | None:
    """By how many percent `planner` exceeds `than` at its worst point."""
    worst = max(ratios(rows, axis, planner, than, quantity).values(), default=None)
    return None if worst is None else 100 * (worst - 1)


def most_below(
    rows: Rows, axis: Axis, planner: str, than: str, quantity: Quantity, least: int = 0
) -> float | None:
    """By how many percent `planner` stays below `than` at its best point from `least` on."""
    points = ratios(rows, axis, planner, than, quantity)
    best = min((ratio for point, ratio in points.items() if point >= least), default=None)
    return None if best is None else 100 * (1 - best)


def most_times_faster(rows: Rows, planner: str, than: str, least: int, most: int) -> float | None:
    """The largest ratio of planning times at the sizes from `least` to `most`."""
    points = ratios(rows, "size", than, planner, "seconds")
    return max((ratio for point, ratio in points.items() if least <= point <= most), default=None)
