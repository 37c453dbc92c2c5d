"""The publish/subscribe workload of IPITT §VI-A: who subscribes to what, who publishes what and when.

Ten classes with two attributes between 0 and 1000. A subscriber asks for one class, drawn by Zipf with
a = 1.1, and a range of each attribute between two uniform values, and sits at a uniformly drawn leaf
broker. Twenty publishers at the root publish five events per second each, uniform over the content.

Everything follows from the seed: the same arguments give the same workload.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from regraft.model import BadInput

ATTRIBUTES = ("x", "y")
LARGEST = 1000.0
ZIPF = 1.1
CLASSES = 10
PUBLISHERS = 20
RATE = 5.0

Floats = npt.NDArray[np.float64]
Event = dict[str, str | float]


@dataclass(frozen=True, eq=False)
class Subscriptions:
    """Columns: subscription i asks for a class, and for each attribute a value from low to high."""

    classes: npt.NDArray[np.int64]
    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.classes)

    def filters(self) -> Iterator[str]:
        """The subscriptions as filter expressions."""
        for number, lows, highs in zip(
            self.classes.tolist(), self.low.tolist(), self.high.tolist(), strict=True
        ):
            ranges = (
                f"{name} >= {low!r} AND {name} <= {high!r}"
                for name, low, high in zip(ATTRIBUTES, lows, highs, strict=True)
            )
            yield " AND ".join((f"class = '{class_name(number)}'", *ranges))


class Publication(NamedTuple):
    """`at` is in seconds from the start."""

    at: float
    publisher: int
    attributes: Event


def class_name(number: int) -> str:
    return f"c{number}"


def class_shares(classes: int = CLASSES, exponent: float = ZIPF) -> Floats:
    """How popular each class is with subscribers."""
    if classes < 1:
        raise BadInput("classes", f"a workload needs at least one class, not {classes}")
    weights = np.arange(1, classes + 1, dtype=np.float64) ** -exponent
    shares: Floats = weights / weights.sum()
    return shares


def subscriptions(
    count: int, seed: int, classes: int = CLASSES, width: float | None = None, digits: int = 3
) -> Subscriptions:
    """`count` subscriptions; with `width`, ranges of that width at uniform places instead of random ones.

    A fixed width controls the number of matches; IPITT draws random ranges.
    """
    random = np.random.default_rng([seed, 0, count])
    drawn = random.choice(classes, size=count, p=class_shares(classes))
    if width is None:
        ends = random.uniform(0, LARGEST, size=(2, count, len(ATTRIBUTES)))
        low, high = ends.min(axis=0), ends.max(axis=0)
    else:
        low = random.uniform(0, LARGEST - width, size=(count, len(ATTRIBUTES)))
        high = low + width
    return Subscriptions(drawn, low.round(digits), high.round(digits))


def homes(count: int, leaves: Sequence[str], seed: int) -> list[str]:
    """The broker of each subscriber, uniform over the leaves."""
    if not leaves:
        raise BadInput("leaves", "subscribers need a leaf broker")
    random = np.random.default_rng([seed, 1, count])
    return [leaves[number] for number in random.integers(0, len(leaves), size=count).tolist()]


def events(seed: int, classes: int = CLASSES, digits: int = 3) -> Iterator[Event]:
    """Endless events, uniform over the classes and both attributes."""
    random = np.random.default_rng([seed, 2])
    while True:
        # In batches: one call per event would take longer than all the rest.
        numbers = random.integers(0, classes, size=1024).tolist()
        values = random.uniform(0, LARGEST, size=(1024, len(ATTRIBUTES))).round(digits).tolist()
        for number, point in zip(numbers, values, strict=True):
            yield {"class": class_name(number), **dict(zip(ATTRIBUTES, point, strict=True))}


def publications(
    seconds: float, seed: int, publishers: int = PUBLISHERS, rate: float = RATE
) -> Iterator[Publication]:
    """What all publishers send in this time, in order; each has a steady rate and a phase of its own."""
    if publishers < 1 or rate <= 0:
        raise BadInput("publishers", "a workload needs at least one publisher and a rate above 0")
    phases = np.sort(np.random.default_rng([seed, 3]).uniform(0, 1 / rate, size=publishers)).tolist()
    content = events(seed)
    cycle = 0
    while phases[0] + cycle / rate < seconds:
        for publisher, phase in enumerate(phases):
            at = phase + cycle / rate
            if at < seconds:
                yield Publication(at, publisher, next(content))
        cycle += 1
