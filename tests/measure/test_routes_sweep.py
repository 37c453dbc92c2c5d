"""Content routes on Spark: the sweep of the figures, and spectral clusters of both kinds (§5.1.6)."""

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from benchmarks._routes_plots import Setting
from benchmarks.routes import run_setting, spread

from regraft.measure.transforms.filter_clusters import filter_clusters
from regraft.routes.clustering_spectral import jaccard, spectral

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_sweep_gives_on_spark_what_it_gives_here(spark: "SparkSession") -> None:
    trials = [(Setting(6, 3, fragments, 1, 2, "publisher"), 0) for fragments in (False, True)]
    found = spread(trials, spark)
    here = [run_setting(*trial) for trial in trials]
    assert [(one.setting, one.seed) for one in found] == trials
    assert [one.flows for one in found] == [one.flows for one in here]
    assert np.allclose([one.data_rate for one in found], [one.data_rate for one in here])


def test_spectral_clusters_of_routes_are_those_that_spark_finds(spark: "SparkSession") -> None:
    draw = np.random.default_rng(2)
    wanted = [
        frozenset((draw.choice(5, 4, replace=False) + 4 * group).tolist())
        for group in (0, 1)
        for _ in range(8 - 3 * group)
    ]
    similar = jaccard(wanted)
    pairs = [
        (f"{one:02}", f"{other:02}", float(similar[one, other]))
        for one, other in combinations(range(len(wanted)), 2)
        if similar[one, other] > 0
    ]
    table = spark.createDataFrame(pairs, "one string, other string, similarity double")
    theirs = {int(row["filter"]): row["cluster"] for row in filter_clusters(table, 2).collect()}
    ours = spectral(similar, 2)
    assert len(set(ours)) == 2
    assert len({(ours[each], theirs[each]) for each in range(len(wanted))}) == 2
