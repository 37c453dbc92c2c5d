"""What was measured in a window of time: the value that the loop judges and designs by.

Who measures it, and from what, is an estate's own business (`Windows` says what it has to offer).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from regraft.model import Topology
from regraft.model.snapshot import Counts
from regraft.model.traffic import Traffic, TrafficClass, merged
from regraft.model.workload import Workload


@dataclass(frozen=True)
class Measured:
    """What is known of one window. Latencies in milliseconds."""

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
    """Of each broker: rate, cpu, memory."""

    @property
    def seconds(self) -> float:
        return self.end - self.start

    @property
    def id(self) -> str:
        return name_of(self.start)


class MeasuredWindow(NamedTuple):
    """A measured window, and what became of the records that were new."""

    measured: Measured
    counts: Counts


class Windows(Protocol):
    """`warm` and `measure` are called one at a time, from a thread that is not the event loop's."""

    def warm(self) -> None:
        """Whatever has to be started before the first measurement."""
        ...

    def measure(self, start: float, end: float) -> MeasuredWindow:
        """The window that has just ended. `DiskFull` if there is no room for it."""
        ...

    def read(self, start: float, end: float) -> Measured:
        """A window that was measured before; `BadInput` if it is no longer kept."""
        ...

    def check_disk(self) -> None:
        """`DiskFull` if there is too little room to measure."""
        ...

    def abandon(self) -> None:
        """A measurement takes too long: it is ended from outside, and the next one starts afresh."""
        ...

    def stop(self) -> None:
        """For good."""
        ...


def nothing(start: float, end: float) -> Measured:
    """A window in which nobody published."""
    return Measured(start, end, Workload(), 0, 0, 0, None, None, None, None, {})


def name_of(start: float) -> str:
    """A window by its start, as the manifest names it."""
    at = datetime.fromtimestamp(start, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S") + (f".{at.microsecond:06}" if at.microsecond else "") + "Z"


def fitting(workload: Workload, topology: Topology) -> Workload:
    """What concerns the brokers of the topology: others may have left since."""
    known = frozenset(topology.ids)
    if all(members <= known for members, _ in workload.traffic) and all(
        brokers <= known for brokers in workload.interest.values()
    ):
        return workload
    traffic = (TrafficClass(members & known, demand) for members, demand in workload.traffic)
    interest = {topic: brokers & known for topic, brokers in workload.interest.items()}
    return Workload(
        merged(each for each in traffic if each.members), {t: b for t, b in interest.items() if b}
    )


def together(windows: Iterable[Measured]) -> Workload:
    """The traffic of several windows, and the interest at the end of the last."""
    each = tuple(windows)
    traffic: Traffic = merged(item for one in each for item in one.workload.traffic)
    return Workload(traffic, each[-1].workload.interest if each else {})
