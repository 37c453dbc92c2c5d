"""What a run costs after a long history: one more window, and nothing new at all.

    python -m benchmarks._measure_history FOLDER --windows 40000 --segments 100000

Five brokers put segments, at first of one window each. After 100 windows, and again after so many, a few more
come one at a time, each with a run of its own. Then the store is filled up to so many segments, all of them
are measured, and runs that find nothing new are timed.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks._measure_child import cpu_seconds

from regraft.measure.run import Job, run
from regraft.measure.session import QUICK, start
from regraft.model.store import open_store
from regraft.segments.names import SegmentName, hour_of
from regraft.segments.writing import OpenSegment

BROKERS = [f"b{number}" for number in range(5)]
BEGIN, WIDTH = 1_767_225_600_000_000, 60_000_000
"""2026-01-01, and a minute, in microseconds."""
FIRST = 100
TIMED, IDLE = 7, 5
"""Runs of which the median counts."""
PUBLISHED = 10
"""Publications in a window."""
TABLES = frozenset({"traffic_classes", "interest", "latency", "broker_load", "link_load"})


class Store:
    """What the brokers have put."""

    def __init__(self, place: Path) -> None:
        self._store = open_store(place)
        self.windows = self.segments = 0

    def put(self, windows: int) -> None:
        """One segment of each broker, of the next windows."""
        begin = BEGIN + self.windows * WIDTH
        self.windows += windows
        for broker in BROKERS:
            one = OpenSegment(broker)
            for window in range(windows):
                self._traffic(one, broker, begin + window * WIDTH + 1_000_000)
            self.segments += 1
            name = SegmentName(broker, hour_of(begin + windows * WIDTH), BEGIN, self.segments)
            self._store.put(name.path, one.close())

    def fill(self, windows: int, each: int) -> None:
        while self.windows < windows:
            self.put(min(each, windows - self.windows))

    @staticmethod
    def _traffic(one: OpenSegment, broker: str, at: int) -> None:
        seqs = range(at // 1_000_000, at // 1_000_000 + PUBLISHED)
        if broker == BROKERS[0]:
            one.publications(at, "p", seqs, [{"topic": "t"}] * PUBLISHED, [100] * PUBLISHED)
            one.hops(at + PUBLISHED, "p", seqs, BROKERS[1], 0)
        else:
            one.deliveries(at + 1000, "p", seqs, f"s-{broker}", 1000)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--windows", type=int, default=40_000)
    parser.add_argument("--segments", type=int, default=100_000)
    options = parser.parse_args()
    store = Store(options.folder / "telemetry")
    session = start("local[2]", memory="5g", settings=QUICK)
    job = Job(options.folder / "telemetry", options.folder / "tables", WIDTH, tables=TABLES)

    def measure() -> None:
        run(job, session)

    def next_window() -> None:
        store.put(1)
        measure()

    found: dict[str, Any] = {}
    store.fill(FIRST, 1)
    measure()
    for _ in range(3):  # until Java has compiled what one window needs
        next_window()
    found["few"] = timed(next_window, TIMED)
    store.fill(options.windows, 100)
    measure()
    next_window()
    found["many"] = timed(next_window, TIMED)
    missing = options.segments - store.segments
    store.fill(store.windows + missing // len(BROKERS), 1)
    measure()
    measure()
    found["idle"] = timed(measure, IDLE)
    found |= {"segments": store.segments, "windows": store.windows}
    session.stop()
    print(json.dumps(found))


def timed(what: Callable[[], None], times: int) -> dict[str, float]:
    """Medians of seconds, and of processor seconds of this process and of Java's."""
    found = []
    for _ in range(times):
        began, cpu = time.monotonic(), cpu_seconds(os.getpid())
        what()
        found.append((time.monotonic() - began, cpu_seconds(os.getpid()) - cpu))
    seconds, processor = zip(*found, strict=True)
    return {"seconds": median(seconds), "cpu": median(processor)}


if __name__ == "__main__":
    main()
