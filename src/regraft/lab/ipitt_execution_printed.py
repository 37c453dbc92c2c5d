"""What the paper prints about the execution of plans (IPITT §VI-C, Figure 6), and the same from our rows.

The curves are not printed as numbers: the numbers here are all that the text states. A sweep follows one of
the three variables through the centre; planners are compared only where both plans were carried out.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import fmean
from typing import Literal, NamedTuple

from regraft.lab.ipitt_execution import CENTRE, DONE, OURS, PLANNERS, THEIRS, Execution, Point, Rows

Axis = Literal["brokers", "change", "subscribers"]
Quantity = Literal[
    "execution_s", "affected_p99_ms", "unaffected_p99_ms", "queue_p99", "queue_most_p99", "affected"
]


def on(axis: Axis, rows: Rows, planner: str, centre: Point = CENTRE) -> dict[int, dict[str, Execution]]:
    """What was carried out at each point of the axis, in ascending order, by topology."""
    found: dict[int, dict[str, Execution]] = {}
    for trial, row in rows.items():
        value: int = getattr(trial, axis)
        if (
            trial.planner == planner
            and row.status == DONE
            and trial.point == centre._replace(**{axis: value})
        ):
            found.setdefault(value, {})[trial.topology] = row
    return dict(sorted(found.items()))


def values(at: dict[str, Execution], quantity: Quantity) -> list[float]:
    found = [getattr(row, quantity) for row in at.values()]
    return [float(value) for value in found if value is not None]


def means(
    axis: Axis, rows: Rows, planner: str, quantity: Quantity, centre: Point = CENTRE
) -> dict[int, float]:
    points = on(axis, rows, planner, centre)
    return {point: fmean(found) for point, at in points.items() if (found := values(at, quantity))}


def percent_shorter(axis: Axis, rows: Rows, centre: Point = CENTRE) -> dict[int, float]:
    """By how much our plan is carried out faster than the best-first search's, at each point."""
    ours, theirs = (on(axis, rows, planner, centre) for planner in (OURS, THEIRS))
    found: dict[int, float] = {}
    for point in ours.keys() & theirs.keys():
        if both := ours[point].keys() & theirs[point].keys():
            one, other = (
                fmean(values({each: at[point][each] for each in both}, "execution_s"))
                for at in (ours, theirs)
            )
            found[point] = 100 * (1 - one / other)
    return dict(sorted(found.items()))


def more_latency(axis: Axis, rows: Rows, planner: str, centre: Point = CENTRE) -> dict[int, float]:
    """How much later affected publications arrive than others, in ms (99th percentiles)."""
    hit = means(axis, rows, planner, "affected_p99_ms", centre)
    others = means(axis, rows, planner, "unaffected_p99_ms", centre)
    return {point: hit[point] - others[point] for point in hit if point in others}


def percent_growth(
    rows: Rows, planner: str, quantity: Quantity, first: int = 1_000, last: int = 5_000
) -> float | None:
    """How much the quantity grows from the first number of subscribers to the last; None if not measured."""
    found = means("subscribers", rows, planner, quantity)
    if not found.get(first) or last not in found:
        return None
    return 100 * (found[last] / found[first] - 1)


class ExecutionFigure(NamedTuple):
    """One number of the text. `value` is a bound: the text says "up to" or "less than"."""

    figure: str
    says: str
    value: float
    measured: Callable[[Rows], float | None]


def _most(of: Callable[[Rows], dict[int, float]]) -> Callable[[Rows], float | None]:
    return lambda rows: max(of(rows).values(), default=None)


def _shorter(axis: Axis) -> Callable[[Rows], float | None]:
    return _most(partial(percent_shorter, axis))


def _later(axis: Axis, planner: str) -> Callable[[Rows], float | None]:
    return _most(lambda rows: more_latency(axis, rows, planner))


def _growth(planner: str, quantity: Quantity) -> Callable[[Rows], float | None]:
    return partial(percent_growth, planner=planner, quantity=quantity)


PRINTED: Sequence[ExecutionFigure] = (
    ExecutionFigure(
        "6a", "ms later than unaffected (p99), BFS's plan, up to", 2_000, _later("brokers", THEIRS)
    ),
    ExecutionFigure(
        "6a", "ms later than unaffected (p99), IPITT's plan, up to", 2_000, _later("brokers", OURS)
    ),
    ExecutionFigure("6b", "% shorter execution than BFS's plan, up to", 55, _shorter("brokers")),
    ExecutionFigure(
        "6e", "ms later than unaffected (p99), BFS's plan, up to", 2_200, _later("change", THEIRS)
    ),
    ExecutionFigure(
        "6e", "ms later than unaffected (p99), IPITT's plan, up to", 2_200, _later("change", OURS)
    ),
    ExecutionFigure("6f", "% shorter execution than BFS's plan, up to", 60, _shorter("change")),
    ExecutionFigure(
        "6h", "% more p99 latency, 5 times the subscribers, less than", 400, _growth(OURS, "affected_p99_ms")
    ),
    ExecutionFigure(
        "6i", "% more execution time, 5 times the subscribers, less than", 400, _growth(OURS, "execution_s")
    ),
    ExecutionFigure(
        "6j", "% more queue growth, 5 times the subscribers, up to", 110, _growth(OURS, "queue_p99")
    ),
)


def printed_table(rows: Rows) -> Iterable[Sequence[object]]:
    yield "figure", "section", "quantity", "seed", "measured"
    for figure in PRINTED:
        measured = figure.measured(rows)
        shown = "" if measured is None else round(measured, 1)
        yield f"Figure {figure.figure}", "IPITT §VI-C", figure.says, figure.value, shown


def figure_table(
    axis: Axis, rows: Rows, quantities: Sequence[Quantity], centre: Point = CENTRE
) -> Iterable[Sequence[object]]:
    """The means that a picture shows, as a table."""
    yield axis, "planner", "runs", *quantities
    for planner in PLANNERS:
        for point, at in on(axis, rows, planner, centre).items():
            found = [values(at, quantity) for quantity in quantities]
            yield point, planner, len(at), *(fmean(each) if each else "" for each in found)
