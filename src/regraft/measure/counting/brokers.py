"""What brokers record besides hops and deliveries, from stored records: as `broker_load.by_broker`."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from regraft.measure.counting.groups import variances, weights
from regraft.measure.counting.pieces import Columns, Stored, Task, counted, read, tasks
from regraft.measure.record_fields import REQUIRED
from regraft.measure.transforms.broker_load import BY_BROKER

KINDS = tuple(sorted(REQUIRED.keys() - {"hop", "delivery"}))
_TEXTS = ("kind", "broker")
_SUMS = {
    "bytes": ("size", "sum"),
    "queue": ("queue", "max"),
    "memory": ("memory", "max"),
    "least_cpu": ("cpu", "min"),
    "most_cpu": ("cpu", "max"),
    "least_left_out": ("not_recorded", "min"),
    "most_left_out": ("not_recorded", "max"),
}


def stored_by_broker(records: Stored) -> DataFrame:
    """A broker may have several rows for a window."""
    return counted(records.session, tasks(records, KINDS), _count, BY_BROKER)


def _count(task: Task) -> Iterator[Columns]:
    columns = dict.fromkeys(name for name, _ in _SUMS.values())
    for batch in read(task, KINDS, ("broker", "one_in", *columns)):
        plain = {
            name: column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        }
        each = weights(batch)
        stand_for = {"records": pa.array(each), "variance": pa.array(variances(each))}
        table = pa.table(plain | stand_for | {"size": pc.multiply(plain["size"], stand_for["records"])})
        groups = table.group_by(["window", *_TEXTS], use_threads=False)
        counts = [(name, "sum") for name in stand_for]
        sums = groups.aggregate([*counts, *_SUMS.values()]).combine_chunks()
        published = pc.equal(sums["kind"], "publication")
        yield {
            "window": sums["window"].chunk(0),
            "broker": sums["broker"].chunk(0),
            "publications": pc.if_else(published, sums["records_sum"], None).chunk(0),
            "variance": pc.if_else(published, sums["variance_sum"], None).chunk(0),
            "deliveries": pa.nulls(len(sums)),
            **{name: sums["_".join(source)].chunk(0) for name, source in _SUMS.items()},
        }
