"""What the overlay benchmark sends, who is due what, and what became of it (IPITT §VI-A).

Who is due what follows from the columns of the workload with NumPy; the filters, which the brokers
parse and match, take no part in it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from regraft.lab.ipitt_workload import ATTRIBUTES, Publication, Subscriptions, class_name
from regraft.lab.workload import Shape
from regraft.model import Topology

SHAPE = Shape(max_degree=6, balanced=True, seed=1)
ROOT = "b0"
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Columns, in the order of arrival at each subscriber: who received which publication, how late (s)."""

    subscribers: Numbers
    publications: Numbers
    seconds: npt.NDArray[np.float64]


class Verdict(NamedTuple):
    """`unwanted` were delivered and not due; `reordered` came after a later one of the same publisher."""

    due: int
    delivered: int
    lost: int
    repeated: int
    unwanted: int
    reordered: int

    @property
    def complete(self) -> bool:
        return not (self.lost or self.repeated or self.unwanted or self.reordered)


def leaves(topology: Topology) -> list[str]:
    """Where subscribers sit; the root is for publishers."""
    return [id for id in topology.ids if len(topology.neighbours[id]) == 1 and id != ROOT] or [ROOT]


def due(subscriptions: Subscriptions, publications: list[Publication]) -> Numbers:
    """Rows (subscriber, publication): whatever matches."""
    wanted = np.array([class_name(number) for number in subscriptions.classes.tolist()])
    rows = []
    for number, publication in enumerate(publications):
        point = np.array([publication.attributes[name] for name in ATTRIBUTES], np.float64)
        inside = ((subscriptions.low <= point) & (point <= subscriptions.high)).all(axis=1)
        found = np.flatnonzero(inside & (wanted == publication.attributes["class"]))
        rows.append(np.column_stack([found, np.full(len(found), number)]))
    return np.concatenate(rows) if rows else np.empty((0, 2), np.int64)


def judged(due_rows: Numbers, arrivals: Arrivals, publishers: Numbers) -> Verdict:
    """`publishers[p]` is who sent publication p; a publisher sends its publications in ascending order."""
    count = max(1, len(publishers))
    expected = due_rows[:, 0] * count + due_rows[:, 1]
    came = arrivals.subscribers * count + arrivals.publications
    distinct = np.unique(came)
    return Verdict(
        due=len(expected),
        delivered=len(came),
        lost=len(np.setdiff1d(expected, distinct)),
        repeated=len(came) - len(distinct),
        unwanted=len(np.setdiff1d(distinct, expected)),
        reordered=_reordered(arrivals, publishers),
    )


def _reordered(arrivals: Arrivals, publishers: Numbers) -> int:
    highest: dict[tuple[int, int], int] = {}
    late = 0
    for subscriber, number in zip(arrivals.subscribers.tolist(), arrivals.publications.tolist(), strict=True):
        stream = (subscriber, int(publishers[number]))
        late += number < highest.get(stream, -1)
        highest[stream] = max(number, highest.get(stream, -1))
    return late
