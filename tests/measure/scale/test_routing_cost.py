"""The routing cost on Spark is the number that `evaluate` finds."""

from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.evaluate.oracle import random_classes, random_tree

from regraft.evaluate import assess
from regraft.model import BadInput
from regraft.model.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TREE = random_tree(50, Random(1))
BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
CLASSES = "members array<string>, demand double"


def classes_of(spark: "SparkSession", rows: list[tuple[list[str], float]]) -> "DataFrame":
    return spark.createDataFrame(rows, CLASSES)


def test_it_is_the_number_of_evaluate(spark: "SparkSession") -> None:
    from regraft.measure.scale.routing_cost import routing_cost

    classes = random_classes(TREE, 300, Random(2))
    rows = [(list(members), demand) for members, demand in classes]
    spark.conf.set(BATCH, "40")  # a task has several batches
    found = routing_cost(classes_of(spark, rows).repartition(3), TREE, alpha=2, beta=3)
    spark.conf.unset(BATCH)
    wanted = assess(TREE, Workload(classes), ["routing-cost"], 2, 3).numbers
    assert found._asdict() == {**wanted, "classes": 300}


def test_a_class_without_members_or_with_an_unknown_one_is_refused(spark: "SparkSession") -> None:
    from regraft.measure.scale.routing_cost import routing_cost

    with pytest.raises(BadInput, match="unknown broker id 'x'"):
        routing_cost(classes_of(spark, [(["b1", "x"], 1.0)]), TREE)
    with pytest.raises(BadInput, match="at least one member"):
        routing_cost(classes_of(spark, [(["b1"], 1.0), ([], 1.0)]), TREE)
