"""Sampled telemetry of traffic that is known, through the pipeline on Spark: what its errors are worth.

    python -m benchmarks._measure_sampling FOLDER --seeds 100 --one-in 100

Each seed is a window of its own, in which a publisher of another name publishes at one end of a chain of
brokers. Records are put into segments as brokers do it; those of the publications in the sample are measured.
Prints in how many windows the truth is within 1.96 standard errors of the demand in the tables, for each
traffic class.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec

from regraft.measure.run import Job, run
from regraft.measure.session import QUICK, start
from regraft.model.snapshot import Snapshot
from regraft.model.store import open_store
from regraft.protocol.sampling import sample
from regraft.protocol.telemetry import Delivery, Hop, Publication, Record
from regraft.segments.names import SegmentName, hour_of
from regraft.segments.writing import segment

CHAIN = ("b0", "b1", "b2", "b3")
REACHED = (("b1",), ("b2",), ("b3",), ("b1", "b3"))
"""Where a publication of each class is delivered."""
BEGIN, WIDTH = 1_767_225_600_000_000, 60_000_000
"""2026-01-01, and a minute, in microseconds."""
RECORDED = 500
"""How many publications of a window are recorded, about."""
Truth = dict[tuple[int, str], int]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--one-in", type=int, default=100)
    options = parser.parse_args()
    telemetry, out = options.folder / "telemetry", options.folder / "tables"
    truth = write(telemetry, options.seeds, options.one_in)
    job = Job(telemetry, out, WIDTH, tables=frozenset({"traffic_classes"}))
    ran = run(job, start("local[2]", settings=QUICK))
    print(json.dumps({"held": held(ran.snapshot, truth)}))


def write(telemetry: Path, seeds: int, one_in: int) -> Truth:
    """The segments of all brokers, and how many publications each class really had in each window."""
    store, truth, places = open_store(telemetry), Counter[tuple[int, str]](), sample(one_in)
    for seed in range(seeds):
        chance, begin, publisher = Random(seed), BEGIN + seed * WIDTH, f"sensor-{seed}#1"
        seqs, step = range(1, RECORDED * one_in), WIDTH / (RECORDED * one_in)
        reached = [chance.choice(REACHED) for _ in seqs]
        truth.update((begin, "-".join(("b0", *each))) for each in reached)
        sampled = defaultdict[str, list[Record]](list)
        for place in places(publisher, seqs):
            seq = seqs[place]
            for record in journey(publisher, seq, begin + round(seq * step), reached[place]):
                sampled[record.broker].append(msgspec.structs.replace(record, one_in=one_in))
        for broker, records in sampled.items():
            store.put(SegmentName(broker, hour_of(begin), BEGIN, seed).path, segment(broker, records))
    return dict(truth)


def journey(publisher: str, seq: int, at: int, reached: tuple[str, ...]) -> Iterator[Record]:
    """What the brokers say of one publication."""
    topic = "-".join(reached)
    yield Publication(
        at=at,
        broker=CHAIN[0],
        publisher=publisher,
        seq=seq,
        topic=topic,
        numbers={"value": float(seq % 100)},
        strings={"topic": topic},
        size=120,
    )
    for place in range(CHAIN.index(reached[-1])):
        to = CHAIN[place + 1]
        yield Hop(
            at=at, broker=CHAIN[place], publisher=publisher, seq=seq, from_=CHAIN[place], to=to, queue=0
        )
    for broker in reached:
        yield Delivery(at=at, broker=broker, publisher=publisher, seq=seq, subscriber=broker, latency=0)


def held(snapshot: Snapshot, truth: Truth) -> dict[str, int]:
    """For each class: in how many windows the interval holds the truth. A class that is missing has none."""
    found: Counter[str] = Counter({name: 0 for _, name in truth})
    for row in snapshot.rows("traffic_classes"):
        window, name = round(row["window"].timestamp() * 1e6), "-".join(row["members"])
        found[name] += abs(row["demand"] - truth[window, name]) <= 1.96 * row["error"]
    return dict(found)


if __name__ == "__main__":
    main()
