"""What the paper prints about its planners (IPITT §VI-C, Figure 5, Table I), and the same for ours.

The curves of Figure 5 are not printed as numbers: the numbers here are all that the text states. `measured`
computes the same number from our rows, or None if they do not hold it.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from regraft.lab.sweeps import (
    Axis,
    Quantity,
    Rows,
    largest,
    mean_at,
    most_above,
    most_below,
    most_times_faster,
)


class PrintedFigure(NamedTuple):
    """One number of the text. `value` is a bound if `says` has "at most", "under" or "up to"."""

    figure: str
    planner: str
    says: str
    value: float
    measured: Callable[[Rows], float | None]
    section: str = "IPITT §VI-C"


class PrintedModel(NamedTuple):
    """A row of Table I, at 60 brokers and 20 % changed links."""

    approach: str
    memory_mb: float
    actions: int | None = None
    variables: int | None = None
    constraints: int | None = None


TABLE_1 = {
    "ip-naive": PrintedModel("IPITT_N", 11_352, 205_320, 1_355_820, 3_810_515),
    "ip-all-paths": PrintedModel("IPITT_A", 2_750, 35_904, 392_928, 919_799),
    "ip-each-path": PrintedModel("IPITT_E", 405, 1_860, 154_620, 211_973),
    "best-first": PrintedModel("BFS", 230),
}
APPROACH = {planner: row.approach for planner, row in TABLE_1.items()}

_N, _A, _E, _BFS = TABLE_1


def _size(planner: str) -> Callable[[Rows], float | None]:
    return partial(largest, axis="size", planner=planner)


def _change(planner: str) -> Callable[[Rows], float | None]:
    return partial(largest, axis="change", planner=planner)


def _seconds(axis: Axis, point: int, planner: str) -> Callable[[Rows], float | None]:
    return partial(mean_at, axis=axis, point=point, planner=planner)


def _above(axis: Axis, than: str, quantity: Quantity, planner: str = _E) -> Callable[[Rows], float | None]:
    return partial(most_above, axis=axis, planner=planner, than=than, quantity=quantity)


def _below(axis: Axis, quantity: Quantity, least: int = 0) -> Callable[[Rows], float | None]:
    return partial(most_below, axis=axis, planner=_E, than=_BFS, quantity=quantity, least=least)


def _faster(than: str, least: int, most: int) -> Callable[[Rows], float | None]:
    return partial(most_times_faster, planner=_E, than=than, least=least, most=most)


PRINTED = (
    PrintedFigure("5a", _N, "largest size solved; none above 60", 50, _size(_N)),
    PrintedFigure("5a", _A, "largest size solved in under 600 s; none above 80", 60, _size(_A)),
    PrintedFigure("5a", _BFS, "largest size solved", 90, _size(_BFS)),
    PrintedFigure("5a", _E, "largest size solved; none at 200 in 600 s", 150, _size(_E)),
    PrintedFigure("5a", _E, "seconds, under, at 70 brokers or less", 45, _seconds("size", 70, _E)),
    PrintedFigure("5a", _E, "seconds, under, at 150 brokers", 400, _seconds("size", 150, _E)),
    PrintedFigure("5a", _E, "times faster than BFS at 50 brokers or less", 61, _faster(_BFS, 0, 50)),
    PrintedFigure("5a", _E, "times faster than BFS at 60 brokers or more", 10, _faster(_BFS, 60, 150)),
    PrintedFigure("5a", _E, "times faster than IPITT_N, up to", 82, _faster(_N, 0, 150)),
    PrintedFigure(
        "5b", _E, "% fewer actions than BFS, up to, at 40 or more", 45, _below("size", "actions", 40)
    ),
    PrintedFigure("5b", _E, "% more actions than IPITT_N, up to", 5, _above("size", _N, "actions")),
    PrintedFigure("5b", _E, "% more actions than IPITT_A, up to", 12, _above("size", _A, "actions")),
    PrintedFigure("5c", _E, "% more steps than IPITT_N, up to", 32, _above("size", _N, "steps")),
    PrintedFigure("5c", _A, "% more steps than IPITT_N, at most", 11, _above("size", _N, "steps", _A)),
    PrintedFigure("5d", _N, "largest change ratio (%) solved; none at 25", 20, _change(_N)),
    PrintedFigure("5d", _A, "largest change ratio (%) solved; none at 25", 20, _change(_A)),
    PrintedFigure("5d", _BFS, "seconds at 30 % changed", 546, _seconds("change", 30, _BFS)),
    PrintedFigure("5d", _E, "seconds at 30 % changed", 117, _seconds("change", 30, _E)),
    PrintedFigure("5d", _E, "% less planning time than BFS, up to", 95, _below("change", "seconds")),
    PrintedFigure("5e", _E, "% fewer actions than BFS, up to", 42, _below("change", "actions")),
    PrintedFigure("5e", _E, "% more actions than IPITT_N, up to", 5, _above("change", _N, "actions")),
    PrintedFigure("5f", _E, "% more steps than IPITT_N, up to", 32, _above("change", _N, "steps")),
)

PLOTTED = {
    "5a": {"ip-each-path": [(70, 45.0), (150, 400.0)]},
    "5d": {"best-first": [(30, 546.0)], "ip-each-path": [(30, 117.0)]},
}
"""The planning times of the text as points (x, seconds), drawn beside ours."""
