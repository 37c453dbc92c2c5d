"""The pipeline as a stream, fed by a process that writes segments at a steady rate, as brokers do.

    python -m benchmarks._measure_stream FOLDER --rate 50000 --seconds 60

The delay of a window is the time from its end until its tables are in a snapshot: no record of it could be
there earlier. A window closes when all brokers have records from after its end, which are in the next segment
of each: those count for which the feeder goes on so long (`GRACE`). Before the steady rate begins less comes,
until some windows are published.
"""

import argparse
import json
import multiprocessing
import os
import threading
import time
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks._measure_child import cpu_seconds

from regraft.measure.follow import follow
from regraft.measure.run import Job
from regraft.measure.session import QUICK, start
from regraft.model import RegraftError
from regraft.model.snapshot import read_snapshot
from regraft.model.store import Store, open_store
from regraft.segments.names import SegmentName, hour_of
from regraft.segments.writing import OpenSegment

BROKERS = 16
STEP = 0.1
"""Seconds of records that are made together."""
SEGMENT_SECONDS = 2.0
GRACE = 2 * SEGMENT_SECONDS
WARM, WARM_WINDOWS = 0.2, 6
"""Of the rate, before it begins, until so many windows are published: Java compiles what is used."""
IDLE = 20.0
"""Seconds without anything new that end the stream."""
TABLES = frozenset({"traffic_classes", "interest", "link_load", "broker_load", "latency"})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rate", type=int, default=50_000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--window", type=float, default=5.0)
    parser.add_argument("--memory", default="4g")
    print(json.dumps(run(parser.parse_args())))


def run(options: argparse.Namespace) -> dict[str, Any]:
    telemetry, out = options.folder / "telemetry", options.folder / "tables"
    telemetry.mkdir(parents=True)
    session = start("local[2]", memory=options.memory, settings=QUICK)
    width = round(options.window * 1e6)
    spawning = multiprocessing.get_context("spawn")
    ready, began, written = spawning.Event(), spawning.Value("d", 0.0), spawning.Value("q", 0)
    feeding = (str(telemetry), options.rate, options.seconds, ready, began, written)
    feeder = spawning.Process(target=feed, args=feeding)
    seen: dict[str, float] = {}
    over = threading.Event()
    watcher = threading.Thread(target=watch, args=(out, seen, over, ready))
    feeder.start()
    watcher.start()
    cpu = cpu_seconds(os.getpid())
    ran = follow(Job(telemetry, out, width, tables=TABLES), session, idle=IDLE)
    over.set()
    watcher.join()
    feeder.join()
    answer = delays(seen, width, began.value, began.value + options.seconds) | {
        "cpu": cpu_seconds(os.getpid()) - cpu,
        "read": ran.counts.read,
        "written": written.value,
    }
    session.stop()
    return answer


def feed(place: str, rate: int, seconds: int, ready: Any, start: Any, written: Any) -> None:
    """Every step its share of the records; time and content are of the moment."""
    brokers = Brokers(open_store(place))
    while not ready.wait(STEP):
        written.value += brokers.step(round(rate * STEP * WARM))
    start.value = began = time.time()
    for step in range(round(seconds / STEP)):
        wait = began + step * STEP - time.time()
        if wait > 0:
            time.sleep(wait)
        written.value += brokers.step(round(rate * STEP))
    brokers.close()


class Brokers:
    """Publications at broker 0, with a hop to and a delivery at half of the others, in turn."""

    def __init__(self, store: Store) -> None:
        self._store, self._life = store, time.time_ns() // 1000
        self._open = [OpenSegment(f"b{number}") for number in range(BROKERS)]
        self._closed, self._begun = 0, time.monotonic()
        self._steps = self._seq = 0

    def step(self, records: int) -> int:
        """About so many records, in all; says how many."""
        self._steps += 1
        reached = range(1 + self._steps % 2, BROKERS, 2)
        count = max(1, records // (1 + 2 * len(reached)))
        publisher, topic = f"p{self._steps % 20}", f"t{self._steps % 10}"
        seqs, at = range(self._seq, self._seq + count), time.time_ns() // 1000
        self._seq += count
        self._open[0].publications(at, publisher, seqs, [{"topic": topic}] * count, [120] * count)
        for place, broker in enumerate(reached, 1):  # a broker never gives the same time twice
            self._open[0].hops(at + place * count, publisher, seqs, f"b{broker}", self._steps % 999)
            latency = 1000 + self._steps * 7919 % 50_000
            self._open[broker].deliveries(at + latency, publisher, seqs, f"s{broker}", latency)
        if time.monotonic() - self._begun >= SEGMENT_SECONDS:
            self.close()
        return count * (1 + 2 * len(reached))

    def close(self) -> None:
        """Close the segments, and begin the next ones."""
        self._begun, self._closed = time.monotonic(), self._closed + 1
        hour = hour_of(time.time_ns() // 1000)
        for each in self._open:
            if len(each):
                name = SegmentName(each.broker, hour, self._life, self._closed)
                self._store.put(name.path, each.close())
        self._open = [OpenSegment(each.broker) for each in self._open]


def watch(out: Path, seen: dict[str, float], over: threading.Event, ready: Any) -> None:
    """When the stream has warmed up, and when each window was first in a snapshot."""
    last = 0
    while not over.wait(0.1):
        try:
            snapshot = read_snapshot(out)
        except RegraftError:
            continue  # there is none yet
        if snapshot.version == last:
            continue
        last = snapshot.version
        for window in snapshot.windows:
            seen.setdefault(window, time.time())
        if len(seen) >= WARM_WINDOWS:
            ready.set()


def delays(seen: dict[str, float], width: int, began: float, ended: float) -> dict[str, Any]:
    """Of the windows that lie within the time of the steady rate."""
    ends = [(_start(name) + width / 1e6, at) for name, at in seen.items()]
    late = [at - end for end, at in sorted(ends) if began <= end - width / 1e6 and end + GRACE <= ended]
    shown = {"windows": len(late), "delays": [round(each, 2) for each in late]}
    return shown | ({"median": median(late), "largest": max(late)} if late else {})


def _start(window: str) -> float:
    return datetime.fromisoformat(window).timestamp()


if __name__ == "__main__":
    main()
