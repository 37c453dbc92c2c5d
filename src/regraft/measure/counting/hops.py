"""Hops by link, from stored records: the same as `transforms.link_load.hops`."""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.counting.groups import coded, grouped, variances, weights, whole
from regraft.measure.counting.pieces import Columns, Stored, Task, counted, read, tasks
from regraft.measure.schemas import NUMBER, TEXT, TIME, WHOLE, struct

HOPS = struct(
    window=TIME, from_=TEXT, to=TEXT, messages=WHOLE, transformed=WHOLE, queue=WHOLE, variance=NUMBER
)


def stored_hops(records: Stored) -> DataFrame:
    parts = counted(records.session, tasks(records, ("hop",)), _count, HOPS)
    return parts.groupBy("window", "from", "to").agg(
        f.sum("messages").alias("messages"),
        f.sum("transformed").alias("transformed"),
        f.max("queue").alias("queue"),
        f.sum("variance").alias("variance"),
    )


def _count(task: Task) -> Iterator[Columns]:
    for batch in read(task, ("hop",), ("from", "to", "transformation", "queue", "one_in")):
        keys = {name: coded(batch.column(name)) for name in ("window", "from", "to")}
        groups = grouped([(key.codes, key.size) for key in keys.values()])
        under = batch.column("transformation").is_valid().to_numpy(zero_copy_only=False)
        each = weights(batch)
        columns = {name: key.values.take(pa.array(key.codes[groups.rows])) for name, key in keys.items()}
        yield columns | {
            "messages": pa.array(groups.sums(each)),
            "transformed": pa.array(groups.sums(each * under)),
            "queue": pa.array(groups.largest(whole(batch.column("queue")))),
            "variance": pa.array(groups.totals(variances(each))),
        }
