"""Which links existed in a window: from the health records of brokers, or else from their hops."""

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import of_kind
from regraft.model import BadInput, Topology, ends


def links(records: DataFrame) -> DataFrame:
    """window, one, other, said: by the last health record of a broker in the window, or by a hop."""
    last = of_kind(records, "health").groupBy("window", "broker").agg(f.max_by("links", "at").alias("links"))
    told = last.select("window", f.col("broker").alias("one"), f.explode("links").alias("other", "state"))
    by_health = told.where("state = 'up'").select("window", "one", "other", f.lit("health").alias("said"))
    by_hops = of_kind(records, "hop").select(
        "window", f.col("from").alias("one"), f.col("to").alias("other"), f.lit("hop").alias("said")
    )
    return by_health.unionByName(by_hops.distinct()).distinct()


def trees(links: DataFrame) -> Mapping[int, Topology]:
    """The tree of every window (by its start in microseconds). A window whose links do not form a tree is
    left out."""
    seen: dict[int, dict[str, set[tuple[str, str]]]] = {}
    for row in links.select(f.unix_micros("window").alias("start"), "one", "other", "said").collect():
        seen.setdefault(row.start, {}).setdefault(row.said, set()).add(ends(row.one, row.other))
    found = {
        window: _tree(said.get("health", ())) or _tree(said.get("hop", ())) for window, said in seen.items()
    }
    return {window: tree for window, tree in sorted(found.items()) if tree}


def _tree(pairs: Iterable[tuple[str, str]]) -> Topology | None:
    try:
        return Topology.of(sorted(pairs)) if pairs else None
    except BadInput:
        return None
