"""Publications by class and topic, from stored records: the same as `transforms.publications`.

A batch becomes a matrix of bits: a publication is a row, a broker a column, and a bit says that it was
published or delivered there; 64 bits are a word. All records of a publication are in one window. If each
file holds few windows, a task takes all records of some windows, and its counts are final. Otherwise a task
takes some files, and Spark combines what several tasks found about a publication.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import DataType

from regraft.measure.counting.groups import (
    Groups,
    Ints,
    coded,
    grouped,
    spread,
    variances,
    weights,
    whole,
)
from regraft.measure.counting.pieces import (
    Columns,
    Piece,
    Stored,
    Task,
    counted,
    read,
    read_together,
    tasks,
)
from regraft.measure.members import BITS, Brokers
from regraft.measure.schemas import NUMBER, TEXT, TIME, WHOLE, struct
from regraft.measure.transforms.publications import by_class_and_topic, topic_id

KINDS = ("publication", "delivery")
COLUMNS = ("broker", "publisher", "seq", "topic", "one_in")
SUMS: dict[str, DataType] = {"demand": WHOLE, "variance": NUMBER, "deliveries": WHOLE}
TOGETHER = 4_000_000
"""About how many rows a task reads that takes whole windows."""
MOST_TOGETHER = 4 * TOGETHER
MOST_AGAIN = 1.5
"""How often a record may be read, on average, because its file holds windows of several tasks."""


def stored_by_class_and_topic(records: Stored, brokers: Brokers) -> DataFrame:
    """Only if sets of brokers are words (`Brokers.as_words`)."""
    words = dict.fromkeys(brokers.columns, WHOLE)
    whole_windows = by_windows(records)
    if whole_windows is None:
        return by_class_and_topic(stored_publications(records, brokers), brokers)
    schema = struct(window=TIME, **words, topic=TEXT, **SUMS)
    found = counted(records.session, whole_windows, partial(_classes, brokers=brokers), schema)
    return found.select("window", *brokers.columns, topic_id().alias("topic_id"), *SUMS)


def stored_class_sets(records: Stored, brokers: Brokers) -> DataFrame | None:
    """As `transforms.traffic_classes.class_sets`, without a shuffle; None if tasks have no whole windows."""
    whole_windows = by_windows(records)
    if whole_windows is None:
        return None
    schema = struct(window=TIME, **dict.fromkeys(brokers.columns, WHOLE), **SUMS)
    count = partial(_classes, brokers=brokers, by=())
    found = counted(records.session, whole_windows, count, schema).where("demand > 0")
    return found.select(
        "window", *brokers.columns, "demand", "variance", f.lit(1).cast(WHOLE).alias("classes")
    )


def stored_publications(records: Stored, brokers: Brokers) -> DataFrame:
    """As `transforms.publications.publications`."""
    words = dict.fromkeys(brokers.columns, WHOLE)
    schema = struct(
        window=TIME, publisher=TEXT, seq=WHOLE, one_in=WHOLE, **words, topic=TEXT, deliveries=WHOLE
    )
    parts = counted(records.session, tasks(records, KINDS), partial(_parts, brokers=brokers), schema)
    publisher, topic = f.xxhash64("publisher").alias("publisher_id"), topic_id().alias("topic_id")
    return (
        parts.select("window", publisher, "seq", "one_in", *brokers.columns, topic, "deliveries")
        .groupBy("window", "publisher_id", "seq")
        .agg(
            f.max("one_in").alias("one_in"),
            *brokers.united(),
            f.bit_or("topic_id").alias("topic_id"),
            f.sum("deliveries").alias("deliveries"),
        )
    )


def by_windows(records: Stored) -> list[Task] | None:
    """Tasks of whole windows; None if one would read too much, or too much would be read twice."""
    pieces = [piece for piece in records.pieces if piece.may_hold(KINDS, records.windows)]
    found, windows = list[Task](), list[int]()
    for start in sorted(records.windows):
        held = _holding(pieces, [*windows, start])
        if windows and sum(piece.rows for piece in held) > TOGETHER:
            found.append(Task(_holding(pieces, windows), tuple(windows)))
            windows = []
        windows.append(start)
    found.append(Task(_holding(pieces, windows), tuple(windows)))
    rows = [sum(piece.rows for piece in task.pieces) for task in found]
    if max(rows) > MOST_TOGETHER or sum(rows) > MOST_AGAIN * sum(piece.rows for piece in pieces):
        return None
    return [task for task in found if task.pieces]


def _holding(pieces: list[Piece], windows: list[int]) -> tuple[Piece, ...]:
    return tuple(piece for piece in pieces if piece.may_hold(KINDS, windows))


def _parts(task: Task, *, brokers: Brokers) -> Iterator[Columns]:
    for batch in read(task, KINDS, COLUMNS):
        yield from _publications(batch, brokers)


def _classes(task: Task, *, brokers: Brokers, by: Sequence[str] = ("topic",)) -> Iterator[Columns]:
    batch = read_together(task, KINDS, COLUMNS)
    for columns in _publications(batch, brokers) if batch else ():
        reached, each = np.asarray(columns["deliveries"]) > 0, np.asarray(columns["one_in"])
        made = {"demand": pa.array(reached * each), "variance": pa.array(reached * variances(each))}
        table = pa.table(columns | made)
        keys = ["window", *brokers.columns, *by]
        groups = table.group_by(keys, use_threads=False)
        sums = groups.aggregate([(name, "sum") for name in SUMS]).combine_chunks()
        found = sums.rename_columns([name.removesuffix("_sum") for name in sums.column_names]).to_batches()
        yield from (dict(zip(each.schema.names, each.columns, strict=True)) for each in found)


def _publications(batch: pa.RecordBatch, brokers: Brokers) -> Iterator[Columns]:
    names = coded(batch.column("broker"))
    number = np.array([brokers.number.get(name, -1) for name in names.values.to_pylist()], np.int64)
    at = number[names.codes]
    if at.min() < 0:  # records of an unknown broker are dropped
        ours = at >= 0
        batch, at = batch.filter(pa.array(ours)), at[ours]
    if not batch.num_rows:
        return
    windows, publishers = coded(batch.column("window")), coded(batch.column("publisher"))
    groups = grouped([windows[:2], publishers[:2], spread(whole(batch.column("seq")))])
    kinds = coded(batch.column("kind"))
    published = np.array([kind == "publication" for kind in kinds.values.to_pylist()])[kinds.codes]
    each = weights(batch)
    yield {
        "window": windows.values.take(pa.array(windows.codes[groups.rows])),
        "publisher": publishers.values.take(pa.array(publishers.codes[groups.rows])),
        "seq": batch.column("seq").take(pa.array(groups.rows)),
        "one_in": pa.array(groups.largest(each)),
        **dict(zip(brokers.columns, _words(groups, at, len(brokers.columns)), strict=True)),
        "topic": _topics(batch.column("topic"), groups, published),
        "deliveries": pa.array(groups.sums(each * ~published)),
    }


def _words(groups: Groups, number: Ints, count: int) -> Iterator[pa.Array]:
    """The set of brokers of each publication: bit n of word w stands for broker 64 w + n."""
    for word in range(count):
        marks = np.zeros((len(groups.rows), BITS), np.uint8)
        place = groups.place * BITS + number - word * BITS
        if count > 1:
            place = place[number // BITS == word]
        marks.reshape(-1)[place] = 1
        yield pa.array(np.packbits(marks, axis=1, bitorder="little").view("<i8").reshape(-1))


def _topics(topics: pa.Array, groups: Groups, published: npt.NDArray[np.bool_]) -> pa.Array:
    """The topic of each publication, if its publication record is in the batch."""
    row_of = np.full(len(groups.rows), -1, np.int64)
    rows = np.flatnonzero(published)
    row_of[groups.place[rows]] = rows
    return topics.take(pa.array(row_of, mask=row_of < 0)).cast(pa.string())
