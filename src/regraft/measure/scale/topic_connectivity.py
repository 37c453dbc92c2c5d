"""Is every topic of a large overlay connected, and does k hold? (kTCO §III, §IV Definition 1)

A link belongs to the topics that both its ends are interested in. To find them, the topics of every node are
joined, as one list, to both ends of every link, and intersected. Then each topic is examined in memory,
because its links are a small part of the overlay. Connectivity (k = 1) is exact for topics of any size; a
higher k is checked for topics of at most `largest` nodes, and unknown (null) for larger ones.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from regraft.measure.scale.interest import Numbered, hinted
from regraft.model import BadInput
from regraft.model.k_connectivity import largest_k

TOPICS = "topic string, nodes long, links long, components long, holds boolean"
_FOUND = "topic int, linked long, links long, components long, k_holds boolean"
LARGEST = 5_000


def topic_connectivity(tables: Numbered, links: DataFrame, k: int = 1, largest: int = LARGEST) -> DataFrame:
    """One row per topic: its brokers, its links, its components, and whether k holds (null: not checked)."""
    if k < 1:
        raise BadInput("k", f"must be at least 1, not {k}")
    found = _topic_links(links, tables).groupBy("topic").applyInArrow(_examine(k, largest), _FOUND)
    sizes = tables.pairs.groupBy("topic").agg(f.count("*").alias("nodes"))
    joined = sizes.join(found, "topic", "left").join(
        tables.topics.select(f.col("id").alias("topic"), "name"), "topic"
    )
    alone = f.col("nodes") - f.coalesce("linked", f.lit(0))
    components = f.coalesce("components", f.lit(0)) + alone
    # The only broker of a topic needs no link; if there are others, a broker without a link is cut off.
    holds = f.when(f.col("nodes") == 1, True).when(components > 1, False)
    holds = holds.otherwise(f.lit(True) if k == 1 else f.col("k_holds"))
    return joined.select(
        f.col("name").alias("topic"),
        "nodes",
        f.coalesce("links", f.lit(0)).cast("long").alias("links"),
        components.cast("long").alias("components"),
        holds.alias("holds"),
    )


def _topic_links(links: DataFrame, tables: Numbered) -> DataFrame:
    """(topic, one, other) for every topic that both ends share."""
    names = tables.nodes.select(f.col("name"), f.col("id"))
    for end in ("one", "other"):
        of_end = names.select(f.col("name").alias(end), f.col("id").alias(f"{end}_id"))
        links = links.join(hinted(of_end, tables.node_count), end)
    one, other = f.least("one_id", "other_id"), f.greatest("one_id", "other_id")
    links = links.select(one.alias("one"), other.alias("other")).dropDuplicates()
    topics = tables.pairs.groupBy("node").agg(f.collect_list(f.col("topic").cast("int")).alias("topics"))
    for end in ("one", "other"):
        of_end = topics.select(f.col("node").alias(end), f.col("topics").alias(f"{end}_topics"))
        links = links.join(hinted(of_end, tables.node_count), end)
    shared = f.explode(f.array_intersect("one_topics", "other_topics"))
    return links.select(shared.alias("topic"), "one", "other").repartition(tables.partitions, "topic")


def _examine(k: int, largest: int) -> Callable[[pa.Table], pa.Table]:
    """Examines the links of a topic with SciPy and a compiled search: Spark has no function for it."""

    def examine(topic: pa.Table) -> pa.Table:
        ends = np.column_stack((topic["one"].to_numpy(), topic["other"].to_numpy()))
        nodes, flat = np.unique(ends, return_inverse=True)
        pairs = flat.reshape(-1, 2).astype(np.int64)
        graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), (len(nodes), len(nodes)))
        components, _ = connected_components(graph, directed=False)
        holds = None
        if k > 1 and components == 1 and len(nodes) <= largest:
            found = largest_k(len(nodes), pairs, k)
            holds = found is None or found >= k
        row = [topic["topic"][0].as_py(), len(nodes), len(pairs), int(components), holds]
        names = ("topic", "linked", "links", "components", "k_holds")
        kinds = (pa.int32(), pa.int64(), pa.int64(), pa.int64(), pa.bool_())
        return pa.table(
            {name: pa.array([value], kind) for name, value, kind in zip(names, row, kinds, strict=True)}
        )

    return examine
