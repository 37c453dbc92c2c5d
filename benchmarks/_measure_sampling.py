"""Sampled telemetry of traffic that is known, through the pipeline on Spark: what its errors are worth.

    python -m benchmarks._measure_sampling FOLDER --seeds 100 --one-in 100

Each seed is a window of its own, in which a publisher of another name publishes at one end of a chain of
brokers. Records are encoded as brokers do it; those of the publications in the sample are written and
measured. Prints in how many windows the truth is within 1.96 standard errors of the demand in the tables, for
each traffic class, and how many bytes the records take, and would take if every publication were recorded.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pyarrow.dataset as ds

from regraft.measure.run import Job, run
from regraft.measure.session import QUICK, start
from regraft.protocol.sampling import sample
from regraft.protocol.telemetry import Delivery, Hop, Publication, Record

CHAIN = ("b0", "b1", "b2", "b3")
REACHED = (("b1",), ("b2",), ("b3",), ("b1", "b3"))
"""Where a publication of each class is delivered."""
BEGIN, WIDTH = datetime(2026, 1, 1, tzinfo=UTC), timedelta(minutes=1)
RECORDED = 500
"""How many publications of a window are recorded, about."""
Truth = dict[tuple[datetime, str], int]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--one-in", type=int, default=100)
    options = parser.parse_args()
    spool, out = options.folder / "spool", options.folder / "tables"
    spool.mkdir(parents=True)
    truth, written = write(spool, options.seeds, options.one_in)
    width = round(WIDTH / timedelta(microseconds=1))
    job = Job(spool, out, width, tables=frozenset({"traffic_classes"}))
    ran = run(job, start("local[2]", settings=QUICK))
    print(json.dumps({"held": held(ran.snapshot.table("traffic_classes"), truth), **written}))


def write(spool: Path, seeds: int, one_in: int) -> tuple[Truth, dict[str, int]]:
    """The spools of all brokers, and how many publications each class really had in each window."""
    encoder, truth = msgspec.json.Encoder(), Counter[tuple[datetime, str]]()
    files = {broker: (spool / f"{broker}.ndjson").open("wb") for broker in CHAIN}
    sizes = {"exact": 0, "sampled": 0}
    for seed in range(seeds):
        chance, begin, publisher = Random(seed), BEGIN + seed * WIDTH, f"sensor-{seed}#1"
        in_sample, step = sample(publisher, one_in), WIDTH / (RECORDED * one_in)
        for seq in range(1, RECORDED * one_in):
            reached = chance.choice(REACHED)
            truth[begin, "-".join(("b0", *reached))] += 1
            for record in journey(publisher, seq, begin + seq * step, reached):
                sizes["exact"] += len(encoder.encode(record)) + 1
                if in_sample(seq):
                    line = encoder.encode(msgspec.structs.replace(record, one_in=one_in)) + b"\n"
                    sizes["sampled"] += len(line)
                    files[record.broker].write(line)
    for file in files.values():
        file.close()
    return dict(truth), sizes


def journey(publisher: str, seq: int, at: datetime, reached: tuple[str, ...]) -> Iterator[Record]:
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


def held(table: Path, truth: Truth) -> dict[str, int]:
    """For each class: in how many windows the interval holds the truth. A class that is missing has none."""
    found: Counter[str] = Counter({name: 0 for _, name in truth})
    rows: list[dict[str, Any]] = []
    for folder in table.iterdir():
        at = datetime.fromisoformat(folder.name.removeprefix("window=").replace("%3A", ":")).replace(
            tzinfo=UTC
        )
        for row in ds.dataset(sorted(map(str, folder.glob("*.parquet")))).to_table().to_pylist():
            rows.append(row | {"window": at})
    for row in rows:
        name = "-".join(row["members"])
        found[name] += abs(row["demand"] - truth[row["window"], name]) <= 1.96 * row["error"]
    return dict(found)


if __name__ == "__main__":
    main()
