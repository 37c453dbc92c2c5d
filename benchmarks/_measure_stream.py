"""The pipeline as a stream, fed by a process that writes spools at a steady rate.

    python -m benchmarks._measure_stream FOLDER --rate 50000 --seconds 60

The delay of a window is the time from its end until its tables are in the current snapshot: no record of it
could be there earlier. A window closes when there are records from `GRACE` after its end: those count for
which the feeder goes on so long. Before the steady rate begins less comes, until some windows are published.
"""

import argparse
import json
import multiprocessing
import os
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, TextIO

from benchmarks._measure_child import cpu_seconds

from regraft.measure.follow import GRACE, follow
from regraft.measure.run import Job
from regraft.measure.session import QUICK, start

BROKERS = 16
STEP = 0.1
"""Seconds between two writes of a spool."""
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
    spool, out = options.folder / "spool", options.folder / "tables"
    spool.mkdir(parents=True)
    session = start("local[2]", memory=options.memory, settings=QUICK)
    width = round(options.window * 1e6)
    spawning = multiprocessing.get_context("spawn")
    ready, began, before = spawning.Event(), spawning.Value("d", 0.0), spawning.Value("q", 0)
    feeder = spawning.Process(target=feed, args=(spool, options.rate, options.seconds, ready, began, before))
    seen: dict[str, float] = {}
    over = threading.Event()
    watcher = threading.Thread(target=watch, args=(out, seen, over, ready))
    feeder.start()
    watcher.start()
    cpu = cpu_seconds(os.getpid())
    ran = follow(Job(spool, out, width, tables=TABLES), session, idle=IDLE)
    over.set()
    watcher.join()
    feeder.join()
    answer = delays(seen, width, began.value, began.value + options.seconds) | {
        "cpu": cpu_seconds(os.getpid()) - cpu,
        "read": ran.counts.read,
        "written": before.value + options.rate * options.seconds,
    }
    session.stop()
    return answer


def feed(spool: Path, rate: int, seconds: int, ready: Any, start: Any, before: Any) -> None:
    """Every step a share of the lines, spread over the brokers' files; time and content are of the moment."""
    files = [(spool / f"b{number}-1.ndjson.open").open("w") for number in range(BROKERS)]
    lines = endless()
    few = round(rate * STEP * WARM)
    while not ready.wait(STEP):
        _write(files, lines, few)
        before.value += few
    start.value = began = time.time()
    for step in range(round(seconds / STEP)):
        wait = began + step * STEP - time.time()
        if wait > 0:
            time.sleep(wait)
        _write(files, lines, round(rate * STEP))
    for file in files:
        file.close()


def _write(files: Sequence[TextIO], lines: Iterator[tuple[int, str]], count: int) -> None:
    second, micros = divmod(time.time_ns() // 1000, 1_000_000)
    starts = [f"{datetime.fromtimestamp(second + ahead, UTC):%Y-%m-%dT%H:%M:%S}." for ahead in (0, 1)]
    for at in range(micros, micros + count):  # a broker never gives the same time twice
        broker, line = next(lines)
        later, fraction = divmod(at, 1_000_000)
        files[broker].write(line.replace("?", f"{starts[later]}{fraction:06}Z", 1))
    for file in files:
        file.flush()


def endless() -> Iterator[tuple[int, str]]:
    """A publication at broker 0, a hop to and a delivery at half of the others, in turn."""
    seq = 0
    while True:
        seq += 1
        head = f'{{"v":1,"at":"?","publisher":"p{seq % 20}","seq":{seq // 20},'
        yield 0, head + f'"broker":"b0","kind":"publication","topic":"t{seq % 10}","size":120}}\n'
        for broker in range(1 + seq % 2, BROKERS, 2):
            yield 0, head + f'"broker":"b0","kind":"hop","from":"b0","to":"b{broker}","queue":{seq % 999}}}\n'
            yield (
                broker,
                head + f'"broker":"b{broker}","kind":"delivery","subscriber":"s{broker}",'
                f'"latency":{1000 + seq * 7919 % 50_000}}}\n',
            )


def watch(out: Path, seen: dict[str, float], over: threading.Event, ready: Any) -> None:
    """When the stream has warmed up, and when each window was first in the current snapshot."""
    last = None
    while not over.wait(0.05):
        now = os.readlink(out / "current") if (out / "current").is_symlink() else None
        if now == last:
            continue
        last = now
        for place in (out / "current" / "traffic_classes").glob("window=*"):
            seen.setdefault(place.name, time.time())
        if len(seen) >= WARM_WINDOWS:
            ready.set()


def delays(seen: dict[str, float], width: int, began: float, ended: float) -> dict[str, Any]:
    """Of the windows that lie within the time of the steady rate."""
    ends = [(_start(name) + width / 1e6, at) for name, at in seen.items()]
    late = [at - end for end, at in sorted(ends) if began <= end - width / 1e6 and end + GRACE / 1e6 <= ended]
    shown = {"windows": len(late), "delays": [round(each, 2) for each in late]}
    return shown | ({"median": median(late), "largest": max(late)} if late else {})


def _start(name: str) -> float:
    text = name.partition("=")[2].replace("%3A", ":").replace(" ", "T").removesuffix("Z")
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


if __name__ == "__main__":
    main()
