"""Deliveries, counted by broker and by phase and bucket of latency, from stored records.

The same as `transforms.latency.latency_counts`, and as the deliveries of `transforms.broker_load`. A
delivery is looked up only if its window may have seen a transformation, which the statistics of the files
tell.
"""

from collections.abc import Iterator
from functools import lru_cache, partial
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import IntegerType

from regraft.measure.counting.groups import Ints, coded, grouped, weights, whole
from regraft.measure.counting.pieces import Columns, Piece, Stored, Task, counted, read, tasks
from regraft.measure.generate.draws import mixed
from regraft.measure.schemas import TEXT, TIME, WHOLE, struct
from regraft.measure.transforms.latency import GROWTH, PHASES

COUNTS = struct(
    window=TIME, broker=TEXT, phase=TEXT, bucket=IntegerType(), deliveries=WHOLE, sum=WHOLE, largest=WHOLE
)
"""Two tables in one: either `broker` is null, or `phase`, `bucket`, `sum` and `largest` are."""
_UNTOUCHED, _BEFORE, _DURING = (PHASES.index(phase) for phase in ("untouched", "before", "during"))
_NEVER = np.iinfo(np.int64).min
_KEY = ("publisher", "seq", "at")


class Touched(NamedTuple):
    """The publications that made a hop under a transformation, as sorted numbers (`_numbers`)."""

    begun: dict[int, int]
    """Window → the time of the first such hop, in microseconds."""
    publications: npt.NDArray[np.uint64]


def stored_deliveries(records: Stored) -> DataFrame:
    """A worker holds all publications that were touched in memory, so callers limit these (`Piece.under`)."""
    under = tuple(each for each in records.pieces if each.under and each.may_hold(("hop",), records.windows))
    maybe = {start for start in records.windows if any(each.may_hold(("hop",), (start,)) for each in under)}
    apart = records._replace(windows=tuple(start for start in records.windows if start not in maybe))
    parts = counted(records.session, tasks(apart, ("delivery",)), partial(_count, under=()), COUNTS)
    if maybe:
        seen = records._replace(windows=tuple(sorted(maybe)))
        look_up = partial(_count, under=under)
        parts = parts.unionByName(counted(records.session, tasks(seen, ("delivery",)), look_up, COUNTS))
    return parts.groupBy("window", "broker", "phase", "bucket").agg(
        f.sum("deliveries").alias("deliveries"),
        f.sum("sum").alias("sum"),
        f.max("largest").alias("largest"),
    )


def _count(task: Task, *, under: tuple[Piece, ...]) -> Iterator[Columns]:
    touched = _touched(task.windows, under) if under else None
    for batch in read(task, ("delivery",), ("broker", "latency", "one_in", *(_KEY if touched else ()))):
        windows, brokers = coded(batch.column("window")), coded(batch.column("broker"))
        groups, each = grouped([windows[:2], brokers[:2]]), weights(batch)
        yield {
            "window": windows.values.take(pa.array(windows.codes[groups.rows])),
            "broker": brokers.values.take(pa.array(brokers.codes[groups.rows])),
            **dict.fromkeys(("phase", "bucket", "sum", "largest"), pa.nulls(len(groups.rows))),
            "deliveries": pa.array(groups.sums(each)),
        }
        latency = whole(batch.column("latency"))
        # As `transforms.latency.bucket_of`.
        buckets = np.ceil(np.log(np.maximum(latency, 1)) / np.log(GROWTH)).astype(np.int64)
        phases = _phases(batch, touched) if touched else np.full(batch.num_rows, _UNTOUCHED)
        groups = grouped([windows[:2], (phases, len(PHASES)), (buckets, int(buckets.max()) + 1)])
        yield {
            "window": windows.values.take(pa.array(windows.codes[groups.rows])),
            "broker": pa.nulls(len(groups.rows)),
            "phase": pa.array([PHASES[phase] for phase in phases[groups.rows].tolist()], pa.string()),
            "bucket": pa.array(buckets[groups.rows]),
            "deliveries": pa.array(groups.sums(each)),
            "sum": pa.array(groups.sums(latency * each)),
            "largest": pa.array(groups.largest(latency)),
        }


@lru_cache(maxsize=2)  # the next task of a worker often has the same windows
def _touched(windows: tuple[int, ...], under: tuple[Piece, ...]) -> Touched | None:
    """What transformations touched in these windows; None if nothing."""
    task = Task(tuple(piece for piece in under if piece.may_hold(("hop",), windows)), windows)
    begun: dict[int, int] = {}
    found = []
    for batch in read(task, ("hop",), ("transformation", *_KEY)):
        hops = batch.filter(batch.column("transformation").is_valid())
        if hops.num_rows:
            found.append(np.unique(_numbers(hops)))
            starts, at = coded(hops.column("window")), whole(hops.column("at"))
            for code in np.unique(starts.codes):
                start, first = int(whole(starts.values)[code]), int(at[starts.codes == code].min())
                begun[start] = min(first, begun.get(start, first))
    return Touched(begun, np.unique(np.concatenate(found))) if found else None


def _phases(batch: pa.RecordBatch, touched: Touched) -> Ints:
    starts = coded(batch.column("window"))
    begun = np.array([touched.begun.get(start, _NEVER) for start in whole(starts.values).tolist()])
    before = whole(batch.column("at")) < begun[starts.codes]
    numbers = _numbers(batch)
    place = np.searchsorted(touched.publications, numbers)
    during = touched.publications[np.minimum(place, len(touched.publications) - 1)] == numbers
    return np.where(during, _DURING, np.where(before, _BEFORE, _UNTOUCHED))


def _numbers(batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
    """A publication as a number. A collision is as unlikely as in `transforms.publications`."""
    windows, publishers = coded(batch.column("window")), coded(batch.column("publisher"))
    names = [blake2b(name.encode(), digest_size=8).digest() for name in publishers.values.to_pylist()]
    hashes = np.frombuffer(b"".join(names), np.uint64)
    of_both = mixed(whole(windows.values).astype(np.uint64)[:, None] + hashes[None, :]).reshape(-1)
    streams = of_both[windows.codes * publishers.size + publishers.codes]
    return mixed(streams + whole(batch.column("seq")).astype(np.uint64))
