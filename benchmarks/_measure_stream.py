"""The pipeline as a stream, fed by a process that writes spools at a steady rate.

    python -m benchmarks._measure_stream FOLDER --rate 50000 --seconds 60

The delay of a window is the time from its end until its tables are in the current snapshot: no record of it
could be there earlier. Sustained: what is not yet taken in does not grow.
"""

import argparse
import json
import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks._measure_child import cpu_seconds

from regraft.measure.follow import follow
from regraft.measure.run import Job
from regraft.measure.session import start

BROKERS = 16
STEP = 0.1
"""Seconds between two writes of a spool."""
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
    session = start("local[2]", memory=options.memory)
    width = round(options.window * 1e6)
    feeder = multiprocessing.get_context("spawn").Process(
        target=feed, args=(spool, options.rate, options.seconds)
    )
    seen: dict[str, float] = {}
    over = threading.Event()
    watcher = threading.Thread(target=watch, args=(out, seen, over))
    feeder.start()
    watcher.start()
    cpu = cpu_seconds(os.getpid())
    ran = follow(Job(spool, out, width, tables=TABLES), session, ended=lambda: not feeder.is_alive())
    behind = time.time()
    over.set()
    watcher.join()
    feeder.join()
    answer = delays(seen, width, options) | {
        "cpu": cpu_seconds(os.getpid()) - cpu,
        "read": ran.counts.read,
        "written": options.rate * options.seconds,
        "finished_after": behind - max((_start(name) for name in seen), default=behind),
    }
    session.stop()
    return answer


def feed(spool: Path, rate: int, seconds: int) -> None:
    """Every step a share of the lines, spread over the brokers' files; time and content are of the moment."""
    files = [(spool / f"b{number}-1.ndjson.open").open("w") for number in range(BROKERS)]
    lines, began = endless(), time.time()
    for step in range(round(seconds / STEP)):
        wait = began + step * STEP - time.time()
        if wait > 0:
            time.sleep(wait)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
        for number in range(round(rate * STEP)):
            broker, line = next(lines)
            files[broker].write(line.replace("?", f"{now}{number % 1000:03}Z", 1))
        for file in files:
            file.flush()
    for file in files:
        file.close()


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


def watch(out: Path, seen: dict[str, float], over: threading.Event) -> None:
    """When each window was first in the current snapshot."""
    last = None
    while not over.wait(0.05):
        now = os.readlink(out / "current") if (out / "current").is_symlink() else None
        if now == last:
            continue
        last = now
        for place in (out / "current" / "traffic_classes").glob("window=*"):
            seen.setdefault(place.name, time.time())


def delays(seen: dict[str, float], width: int, options: argparse.Namespace) -> dict[str, Any]:
    """Of the windows that closed while the feeder was at work."""
    found = sorted((_start(name), at) for name, at in seen.items())
    late = [at - start - width / 1e6 for start, at in found if start + width / 1e6 > found[0][0]]
    late = late[: max(1, int(options.seconds // options.window) - 1)]
    return {"windows": len(found), "delays": [round(each, 2) for each in late]} | (
        {"median": median(late), "largest": max(late)} if late else {}
    )


def _start(name: str) -> float:
    text = name.partition("=")[2].replace("%3A", ":").replace(" ", "T").removesuffix("Z")
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


if __name__ == "__main__":
    main()
