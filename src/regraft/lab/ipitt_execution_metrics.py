"""The metrics of IPITT §VI-B, computed from deliveries, shifts, and how much the brokers held.

All times are seconds on one clock. Publishers sit at one broker, the root, so a path is known by the
subscriber's broker.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from regraft.model import Ends, ends

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Shift(NamedTuple):
    """shift(i, j, k), from its beginning until all three brokers had finished it."""

    step: int
    i: str
    j: str
    k: str
    begun: float
    ended: float


@dataclass(frozen=True, eq=False)
class Deliveries:
    """Columns; `brokers` is where the subscriber sits, as a number."""

    subscribers: Numbers
    brokers: Numbers
    publications: Numbers
    sent: Floats
    received: Floats

    def milliseconds(self, chosen: Flags) -> Floats:
        late: Floats = 1000 * (self.received[chosen] - self.sent[chosen])
        return late


@dataclass(frozen=True, eq=False)
class Queue:
    """How many publications one broker held, at each time when its queue was read."""

    times: Floats
    held: Numbers


def beyond(links: Iterable[Ends], root: str, link: Ends) -> set[str]:
    """The brokers of a tree whose path from the root uses this link; empty if the tree does not have it."""
    near: dict[str, list[str]] = {}
    for one, other in links:
        near.setdefault(one, []).append(other)
        near.setdefault(other, []).append(one)
    found: set[str] = set()
    stack = [(root, "", False)]
    while stack:
        broker, source, crossed = stack.pop()
        if crossed:
            found.add(broker)
        stack += [
            (each, broker, crossed or ends(broker, each) == link)
            for each in near.get(broker, ())
            if each != source
        ]
    return found


def changed_paths(links: Iterable[Ends], root: str, shifts: Sequence[Shift]) -> list[set[str]]:
    """For each shift, the brokers whose path from the root it changes; shifts are in the order of steps.

    Shifts of a step run in any order: a path counts if it uses the old link before the step, or the new
    one after it.
    """
    before = set(links)
    found: list[set[str]] = []
    for _, step in groupby(shifts, key=lambda shift: shift.step):
        together = list(step)
        after = before - {ends(each.i, each.j) for each in together}
        after |= {ends(each.i, each.k) for each in together}
        found += [
            beyond(before, root, ends(each.i, each.j)) | beyond(after, root, ends(each.i, each.k))
            for each in together
        ]
        before = after
    return found


def affected(
    deliveries: Deliveries, shifts: Sequence[Shift], changed: Sequence[set[str]], numbers: Mapping[str, int]
) -> Flags:
    """Which deliveries were in transit during a shift on a path that it changed."""
    hit = np.zeros(len(deliveries.sent), np.bool_)
    for shift, brokers in zip(shifts, changed, strict=True):
        there = np.zeros(len(numbers), np.bool_)
        there[[numbers[each] for each in brokers]] = True
        hit |= in_transit(deliveries, shift.begun, shift.ended) & there[deliveries.brokers]
    return hit


def in_transit(deliveries: Deliveries, begun: float, ended: float) -> Flags:
    """Which were sent before the end, and received after the beginning."""
    flags: Flags = (deliveries.received >= begun) & (deliveries.sent <= ended)
    return flags


def p99(values: Floats | Sequence[float]) -> float | None:
    return float(np.percentile(values, 99)) if len(values) else None


class Growth(NamedTuple):
    """How many more publications a broker held at the end of a shift, and at most, than at its beginning."""

    at_the_end: int
    at_the_most: int


def growths(shifts: Sequence[Shift], queues: Mapping[str, Queue]) -> list[Growth]:
    """For the three brokers of every shift, from the last reading before it to the first one after it."""
    return [growth(shift, queues[each]) for shift in shifts for each in (shift.i, shift.j, shift.k)]


def growth(shift: Shift, queue: Queue) -> Growth:
    first = max(0, int(np.searchsorted(queue.times, shift.begun, "right")) - 1)
    last = min(len(queue.times) - 1, int(np.searchsorted(queue.times, shift.ended)))
    held = queue.held[first : last + 1]
    return Growth(int(held[-1] - held[0]), int(held.max() - held[0]))
