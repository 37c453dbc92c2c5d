"""The sweep of content routes' figures on Spark."""

from typing import TYPE_CHECKING

import numpy as np
from benchmarks._routes_plots import Setting
from benchmarks.routes import run_setting, spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_sweep_gives_on_spark_what_it_gives_here(spark: "SparkSession") -> None:
    trials = [(Setting(6, 3, fragments, 1, 2, "publisher"), 0) for fragments in (False, True)]
    found = spread(trials, spark)
    here = [run_setting(*trial) for trial in trials]
    assert [(one.setting, one.seed) for one in found] == trials
    assert [one.flows for one in found] == [one.flows for one in here]
    assert np.allclose([one.data_rate for one in found], [one.data_rate for one in here])
