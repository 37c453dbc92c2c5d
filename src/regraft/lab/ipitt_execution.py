"""The plan execution experiment of IPITT §VI: what is run, what is measured of it, and the rows in a file.

The live part, which starts brokers and clients, is `scripts/bench apply --part figures`. Every run is one
row, written as it comes; a run that stands there is not repeated.
"""

import csv
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, get_args, get_type_hints

from regraft.lab.workload import SHAPES
from regraft.model import BadInput

OURS, THEIRS = "fast", "best-first"
PLANNERS = (OURS, THEIRS)
DONE = "done"


class Point(NamedTuple):
    """`change` is a percentage of the links."""

    brokers: int
    change: int
    subscribers: int


CENTRE = Point(60, 20, 1_000)
"""Of IPITT's three sweeps."""


class Trial(NamedTuple):
    """One plan of a point; `topology` is the name of one of the twelve shapes."""

    planner: str
    brokers: int
    change: int
    subscribers: int
    topology: str = str(SHAPES[0])
    seed: int = 1
    """Of the workload."""

    @property
    def point(self) -> Point:
        return Point(self.brokers, self.change, self.subscribers)

    @property
    def name(self) -> str:
        return "-".join(map(str, self))


class Execution(NamedTuple):
    """One run; figures are None unless it was carried out (IPITT §VI-B)."""

    status: str
    """`done`; otherwise `reason` says why not."""
    reason: str = ""
    steps: int | None = None
    actions: int | None = None
    planning_s: float | None = None
    execution_s: float | None = None
    """M_PET: from when the plan is in the journal until the goal is reached."""
    shift_p50_ms: float | None = None
    shift_p99_ms: float | None = None
    attempts: int | None = None
    """The most that a shift has taken."""
    published: int | None = None
    due: int | None = None
    delivered: int | None = None
    lost: int | None = None
    repeated: int | None = None
    unwanted: int | None = None
    reordered: int | None = None
    affected: int | None = None
    """Deliveries in transit, during a shift, on a path that it changed."""
    affected_publications: int | None = None
    affected_p99_ms: float | None = None
    unaffected_p99_ms: float | None = None
    in_transit_p99_ms: float | None = None
    """Of all that were in transit between the first shift and the last, on any path."""
    before_p99_ms: float | None = None
    """Of all that had arrived before the first shift."""
    queue_p99: float | None = None
    """Publications that a broker of a shift held at its end more than at its beginning."""
    queue_most_p99: float | None = None
    """The same with the most that it held in between."""

    @property
    def clean(self) -> bool:
        return not (self.lost or self.repeated or self.unwanted or self.reordered)


Rows = dict[Trial, Execution]


class Sweeps(NamedTuple):
    """Each varies one of the three and keeps the others at the centre."""

    brokers: Sequence[int]
    change: Sequence[int]
    subscribers: Sequence[int]
    centre: Point = CENTRE

    def trials(self, topologies: Sequence[str]) -> Iterator[Trial]:
        """Both planners at every point, one after the other; a point of several sweeps only once."""
        points = [
            self.centre._replace(**{axis: value})
            for axis in Point._fields
            for value in sorted(getattr(self, axis))
        ]
        for point in dict.fromkeys(points):
            for topology in topologies:
                for planner in PLANNERS:
                    yield Trial(planner, *point, topology)


class Executions:
    """The rows of a CSV file. A last line cut short, as after a kill, is dropped and run again."""

    columns = (*Trial._fields, *Execution._fields)

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: Rows = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        complete = text[: text.rfind("\n") + 1]
        if complete:
            self._read(complete)
        if complete != text or not text:
            path.write_text(complete or ",".join(self.columns) + "\n", encoding="utf-8")

    def add(self, trial: Trial, execution: Execution) -> None:
        self.rows[trial] = execution
        with self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow([_text(value) for value in (*trial, *execution)])

    def _read(self, text: str) -> None:
        table = csv.reader(text.splitlines())
        if tuple(next(table)) != self.columns:
            raise BadInput(f"{self.path}: line 1", f"the columns must be {','.join(self.columns)}")
        kinds = get_type_hints(Trial) | get_type_hints(Execution)
        for number, cells in enumerate(table, start=2):
            try:
                values = [
                    _value(kinds[column], cell) for column, cell in zip(self.columns, cells, strict=True)
                ]
            except ValueError as error:
                raise BadInput(f"{self.path}: line {number}", str(error)) from error
            width = len(Trial._fields)
            self.rows[Trial(*values[:width])] = Execution(*values[width:])  # type: ignore[arg-type]


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else " ".join(str(value).split())


def _value(kind: object, cell: str) -> object:
    if isinstance(kind, types.UnionType):
        if not cell:
            return None
        kind = get_args(kind)[0]
    assert isinstance(kind, type)
    value: object = kind(cell)
    return value
