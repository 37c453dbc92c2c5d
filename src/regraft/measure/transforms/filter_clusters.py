"""Filters that match alike, put together (Content routes §5.1.6, §6.3).

`power-iteration` is Spark ML's PowerIterationClustering on the similarities as weights; `threshold` joins
filters that are more alike than the least strength at which so many groups are left (single linkage): quick,
without randomness, for the few hundred filters that are compared.
"""

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import conform
from regraft.measure.schemas import TEXT, WHOLE, struct
from regraft.model import BadInput

CLUSTERS = struct(filter=TEXT, cluster=WHOLE)


def filter_clusters(similarity: DataFrame, clusters: int, method: str = "power-iteration") -> DataFrame:
    """filter, cluster, from the similarities of one window (columns one, other, similarity)."""
    if method not in METHODS:
        raise BadInput(f"method {method}", f"one of {', '.join(METHODS)} is needed")
    if clusters < 1:
        raise BadInput(f"clusters {clusters}", "at least one cluster is needed")
    return conform(METHODS[method](similarity, clusters), CLUSTERS)


def power_iteration(similarity: DataFrame, clusters: int) -> DataFrame:
    from pyspark.ml.clustering import PowerIterationClustering  # noqa: PLC0415 — takes a second to load

    named = _numbered(similarity)
    one = named.select(f.col("filter").alias("one"), f.col("id").alias("src"))
    other = named.select(f.col("filter").alias("other"), f.col("id").alias("dst"))
    edges = similarity.join(one, "one", "inner").join(other, "other", "inner")
    weighted = edges.select("src", "dst", f.col("similarity").alias("weight"))
    by_power = PowerIterationClustering(k=clusters, initMode="degree", weightCol="weight")
    return named.join(by_power.assignClusters(weighted), "id", "inner")


def threshold(similarity: DataFrame, clusters: int) -> DataFrame:
    pairs = sorted(similarity.select("similarity", "one", "other").collect(), key=lambda row: -row.similarity)
    root = {name: name for row in pairs for name in (row.one, row.other)}

    def find(name: str) -> str:
        while root[name] != name:
            name = root[name]
        return name

    groups = len(root)
    for row in pairs:
        above, below = sorted((find(row.one), find(row.other)))
        if above != below and groups > clusters:
            root[below] = above
            groups -= 1
    numbers = {name: number for number, name in enumerate(sorted({find(name) for name in root}))}
    rows = [(name, numbers[find(name)]) for name in sorted(root)]
    return similarity.sparkSession.createDataFrame(rows, CLUSTERS)


METHODS: Mapping[str, Callable[[DataFrame, int], DataFrame]] = {
    "power-iteration": power_iteration,
    "threshold": threshold,
}


def _numbered(similarity: DataFrame) -> DataFrame:
    names = similarity.select(f.explode(f.array("one", "other")).alias("filter")).distinct()
    rows = [(name, number) for number, (name,) in enumerate(sorted(names.collect()))]
    return similarity.sparkSession.createDataFrame(rows, "filter string, id long")
