"""The plan execution experiment of IPITT §VI: what is run, what is measured of it, and the rows in a file.

The live part, which starts brokers and clients, is `scripts/bench apply --part figures`. Every run is one
row, written as soon as it ends; a run that is in the file already is not repeated.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from regraft.lab.records import Records
from regraft.lab.workload import SHAPES

OURS, THEIRS = "fast", "best-first"
PLANNERS = (OURS, THEIRS)
DONE = "done"


class Point(NamedTuple):
    """`change` is a percentage of the links."""

    brokers: int
    change: int
    subscribers: int


CENTRE = Point(60, 20, 1_000)
"""The point that IPITT's three sweeps have in common."""


class Trial(NamedTuple):
    """One plan of a point; `topology` is the name of one of the twelve shapes."""

    planner: str
    brokers: int
    change: int
    subscribers: int
    topology: str = str(SHAPES[0])
    seed: int = 1
    """The seed of the workload."""

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
    """M_PET: seconds from the plan's entry in the journal until the goal is reached."""
    shift_p50_ms: float | None = None
    shift_p99_ms: float | None = None
    attempts: int | None = None
    """The most attempts that one shift took."""
    published: int | None = None
    due: int | None = None
    delivered: int | None = None
    lost: int | None = None
    repeated: int | None = None
    unwanted: int | None = None
    reordered: int | None = None
    affected: int | None = None
    """Deliveries that were in transit during a shift on a path that the shift changed."""
    affected_publications: int | None = None
    affected_p99_ms: float | None = None
    unaffected_p99_ms: float | None = None
    in_transit_p99_ms: float | None = None
    """For all deliveries in transit between the first shift and the last, on any path."""
    before_p99_ms: float | None = None
    """For all deliveries that arrived before the first shift."""
    queue_p99: float | None = None
    """How many more publications a broker of a shift held at its end than at its beginning."""
    queue_most_p99: float | None = None
    """The same, with the most that the broker held in between instead of at the end."""

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


def executions(path: Path) -> Records[Trial, Execution]:
    """The rows of the experiment in a CSV file."""
    return Records(path, Trial, Execution)
