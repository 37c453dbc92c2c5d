"""What was measured in a window of time: the value that the loop judges and designs by.

How a window is measured is up to the estate; `Windows` is what ours needs of the part that measures.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from regraft.costs import RoundTrips
from regraft.forecast import Forecast
from regraft.model import Topology
from regraft.model.snapshot import Counts
from regraft.model.traffic import Traffic, TrafficClass, merged
from regraft.model.workload import Workload, added


@dataclass(frozen=True)
class MeasuredWindow:
    """What was measured in one window. Latencies are in milliseconds."""

    start: float
    end: float
    workload: Workload
    publications: int
    deliveries: int
    topics: int
    p50_ms: float | None
    p99_ms: float | None
    p999_ms: float | None
    queue: int | None
    brokers: dict[str, dict[str, float | None]]
    """For each broker its rate, cpu and memory."""
    round_trips: RoundTrips = field(default_factory=dict)
    """Between brokers, as far as it has shown them."""
    forecast: Forecast | None = None
    """What traffic to expect after it, if anything is known of earlier hours."""

    @property
    def seconds(self) -> float:
        return self.end - self.start

    @property
    def id(self) -> str:
        return window_name(self.start)

    @property
    def one_in(self) -> float:
        """How many publications a recorded one stands for. The variance of a demand d is (N - 1) d."""
        demand = sum(demand for _, demand in self.workload.traffic)
        return 1 + sum(self.workload.variances.values()) / demand if demand else 1.0


class WindowAndCounts(NamedTuple):
    """A measured window, how many new records were read, kept, rejected and late, and the time of the newest
    record of all (None: nothing was read)."""

    window: MeasuredWindow
    counts: Counts
    newest: float | None = None


class Windows(Protocol):
    """`warm` and `measure` are called one at a time, from a thread that is not the event loop's."""

    def warm(self) -> None:
        """Start what the first measurement needs."""
        ...

    def measure(self, start: float, end: float) -> WindowAndCounts:
        """Measure the window that has just ended. `DiskFull` if there is no room for it."""
        ...

    def read(self, start: float, end: float) -> MeasuredWindow:
        """A window that was measured before; `BadInput` if it is no longer kept."""
        ...

    def check_disk(self) -> None:
        """`DiskFull` if there is too little room to measure."""
        ...

    def abandon(self) -> None:
        """End a measurement that takes too long, from another thread; the next one starts afresh."""
        ...

    def stop(self) -> None:
        """End measuring for good."""
        ...


def empty_window(start: float, end: float) -> MeasuredWindow:
    """A window in which nothing was published."""
    return MeasuredWindow(start, end, Workload(), 0, 0, 0, None, None, None, None, {})


def window_name(start: float) -> str:
    """The id of a window: its start, as the manifest writes it."""
    at = datetime.fromtimestamp(start, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S") + (f".{at.microsecond:06}" if at.microsecond else "") + "Z"


def fitting(workload: Workload, topology: Topology) -> Workload:
    """The part of the workload that concerns brokers of the topology: others may have left since."""
    known = frozenset(topology.ids)
    if all(members <= known for members, _ in workload.traffic) and all(
        brokers <= known for brokers in workload.interest.values()
    ):
        return workload
    traffic = (TrafficClass(members & known, demand) for members, demand in workload.traffic)
    interest = {topic: brokers & known for topic, brokers in workload.interest.items()}
    return Workload(
        merged(each for each in traffic if each.members),
        {t: b for t, b in interest.items() if b},
        added((members & known, variance) for members, variance in workload.variances.items()),
    )


def together(windows: Iterable[MeasuredWindow]) -> Workload:
    """The traffic of several windows, and the interest at the end of the last."""
    each = tuple(windows)
    traffic: Traffic = merged(item for one in each for item in one.workload.traffic)
    variances = added(item for one in each for item in one.workload.variances.items())
    return Workload(traffic, each[-1].workload.interest if each else {}, variances)
