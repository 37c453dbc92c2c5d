"""The routing cost of a tree (OCBR §2, (1)) over arbitrarily many traffic classes, as `evaluate` computes it.

The tree is small and is sent to every worker as arrays; the classes stay where they are. Spark's functions
cannot compute a common ancestor, so the classes of a batch are arrays for `Spans`.
"""

from collections.abc import Callable, Iterator
from math import fsum
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.faults import one_line
from regraft.model import BadInput, Topology
from regraft.model.spans import Spans
from regraft.model.tree_index import TreeIndex

_PARTIAL = pa.schema(
    [
        ("link_cost", pa.float64()),
        ("broker_cost", pa.float64()),
        ("classes", pa.int64()),
        ("unknown", pa.string()),
        ("empty", pa.int64()),
    ]
)


class RoutingCost(NamedTuple):
    """`link_cost` and `broker_cost` are the two sums before α and β."""

    routing_cost: float
    link_cost: float
    broker_cost: float
    classes: int


def routing_cost(
    classes: DataFrame, topology: Topology, alpha: float = 1.0, beta: float = 1.0
) -> RoutingCost:
    """The cost of (members, demand) rows. `BadInput` if a class has no member or an unknown one."""
    index = TreeIndex.of(topology)
    partial = _partial(index, index.link_costs(topology), index.broker_costs(topology))
    chosen = classes.select(f.col("members").cast("array<string>"), f.col("demand").cast("double"))
    with one_line("routing cost"):
        sums = chosen.mapInArrow(partial, _ddl()).collect()
    for row in sums:
        if row.unknown is not None:
            raise BadInput("members", f"unknown broker id {row.unknown!r}")
        if row.empty:
            raise BadInput("members", "a traffic class needs at least one member")
    links, brokers = fsum(row.link_cost for row in sums), fsum(row.broker_cost for row in sums)
    return RoutingCost(alpha * links + beta * brokers, links, brokers, sum(row.classes for row in sums))


def _partial(
    index: TreeIndex, links: np.typing.NDArray[np.float64], brokers: np.typing.NDArray[np.float64]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    ids = pa.array(index.ids, pa.string())

    def sums(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One row for each task, because the driver collects them."""
        of_links, of_brokers, classes = list[float](), list[float](), 0
        for batch in batches:
            members, demand = batch.column("members"), batch.column("demand").to_numpy(zero_copy_only=False)
            sizes = pc.fill_null(pc.list_value_length(members), 0).to_numpy(zero_copy_only=False)
            places = pc.index_in(members.flatten(), value_set=ids)
            if places.null_count:
                unknown = str(members.flatten().filter(places.is_null())[0].as_py())
                yield _row(0.0, 0.0, 0, unknown, 0)
                return
            if empty := int((sizes == 0).sum()):
                yield _row(0.0, 0.0, 0, None, empty)
                return
            spans = Spans.packed(index, places.to_numpy().astype(np.int64), sizes.astype(np.int64), demand)
            of_links.append(fsum(spans.weights(links) * demand))
            of_brokers.append(fsum(spans.broker_weights(brokers) * demand))
            classes += len(spans)
        yield _row(fsum(of_links), fsum(of_brokers), classes, None, 0)

    return sums


def _row(*values: float | str | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(zip(_PARTIAL.names, values, strict=True))], _PARTIAL)


def _ddl() -> str:
    return "link_cost double, broker_cost double, classes long, unknown string, empty long"
