"""The system and network monitor (Mimosa Pudica §4.2): figures of one broker, and the events that they cause.

`process_figures` reads what the system knows of this process; the node adds what its brokers count. `Monitor`
is pure: samples with their times in, a `Load` and events out. Rates need two samples; before the second they
are unknown, not zero.

| event | when |
|---|---|
| brokerMeasured | at every sample |
| brokerOverloaded | a limit has been exceeded for `sustained` seconds; once, until the load is normal again |
| migrateBrokerRequest | its queue has grown for half a window and is above the limit: it will fail |
"""

import os
import resource
import sys
import threading
from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from regraft.model import BadInput
from regraft.model.facts import Event, Load

WINDOW = 10.0
"""Seconds over which the greatest input rate and the least output rate are taken."""


@dataclass(frozen=True)
class Overload:
    """The limits of the load. `queue`: bytes that are held because a receiver has not confirmed them."""

    cpu: float = 0.9
    memory: float = 0.9
    threads: float = 500.0
    queue: float = 256 * 2.0**20
    sustained: float = 3.0

    def __post_init__(self) -> None:
        if min(self.cpu, self.memory, self.threads, self.queue) <= 0 or self.sustained < 0:
            raise BadInput("overload", "limits must be positive")

    def crossed(self, load: Load) -> tuple[str, ...]:
        """The measures that are beyond their limits."""
        return tuple(
            name
            for name in ("cpu", "memory", "threads", "queue")
            if (value := getattr(load, name)) is not None and value > getattr(self, name)
        )


class Sample(NamedTuple):
    """Counts since the start of the process, and sizes now."""

    cpu_seconds: float
    memory: float | None
    """Share of the machine's memory."""
    threads: int
    queue: float = 0.0
    publications_in: int = 0
    messages_out: int = 0
    clients: int = 0


class MonitorResult(NamedTuple):
    load: Load
    events: tuple[Event, ...]


class Monitor:
    """Watches the load of one broker."""

    def __init__(self, broker: str, overload: Overload | None = None) -> None:
        self.broker = broker
        self.overload = overload or Overload()
        self._before: tuple[float, Sample] | None = None
        self._recent: deque[tuple[float, float, float, float]] = deque()
        """Time, input rate, output rate, queue."""
        self._since: float | None = None
        self._told = False
        self._failing = False

    def take(self, sample: Sample, now: float) -> MonitorResult:
        load = self._load(sample, now)
        self._before = now, sample
        figures = {
            name: value for name in load.__struct_fields__ if (value := getattr(load, name)) is not None
        }
        names = ["brokerMeasured", *self._overloaded(load, now), *self._about_to_fail(load, now)]
        events = tuple(
            Event(name=name, broker=self.broker, arguments=dict(figures), at=now) for name in names
        )
        return MonitorResult(load, events)

    def _load(self, sample: Sample, now: float) -> Load:
        sizes = {
            "memory": sample.memory,
            "threads": float(sample.threads),
            "queue": sample.queue,
            "clients": float(sample.clients),
        }
        if self._before is None or now <= self._before[0]:
            return Load(**sizes)
        at, past = self._before
        seconds = now - at
        came = max(0, sample.publications_in - past.publications_in) / seconds
        left = max(0, sample.messages_out - past.messages_out) / seconds
        self._recent.append((now, came, left, sample.queue))
        while self._recent[0][0] < now - WINDOW:
            self._recent.popleft()
        return Load(
            **sizes,
            cpu=min(1.0, max(0.0, sample.cpu_seconds - past.cpu_seconds) / seconds),
            input_rate=came,
            output_rate=left,
            max_input_rate=max(each[1] for each in self._recent),
            min_output_rate=min(each[2] for each in self._recent),
        )

    def _overloaded(self, load: Load, now: float) -> list[str]:
        if not self.overload.crossed(load):
            self._since, self._told = None, False
            return []
        self._since = now if self._since is None else self._since
        if self._told or now - self._since < self.overload.sustained:
            return []
        self._told = True
        return ["brokerOverloaded"]

    def _about_to_fail(self, load: Load, now: float) -> list[str]:
        queues = [each[3] for each in self._recent]
        whole = bool(self._recent) and now - self._recent[0][0] >= WINDOW / 2
        grows = all(one < other for one, other in pairwise(queues))
        failing = whole and grows and "queue" in self.overload.crossed(load)
        fresh, self._failing = failing and not self._failing, failing
        return ["migrateBrokerRequest"] if fresh else []


def process_figures() -> Sample:
    """The figures of this process. A broker works in one thread, so it can use one core at most."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return Sample(used.ru_utime + used.ru_stime, _memory_share(used.ru_maxrss), threading.active_count())


def _memory_share(most_kilobytes: int) -> float | None:
    """What is resident now; where the system does not tell, the most that ever was."""
    page = os.sysconf("SC_PAGE_SIZE")
    whole = page * os.sysconf("SC_PHYS_PAGES")
    if whole <= 0:
        return None
    try:
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * page
    except (OSError, ValueError, IndexError):
        resident = most_kilobytes * (1 if sys.platform == "darwin" else 1024)
    return resident / whole
