"""Workers use the installed PySpark, which is compiled, and not the source in the zip file of Spark."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from regraft.measure.daemon import without_zip

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_only_the_zip_files_of_spark_are_left_out() -> None:
    others = ["", "/elsewhere/own.zip", "/spark/jars/core.jar", "/site-packages"]
    zips = ["/spark/lib/pyspark.zip", "/spark/lib/py4j-0.10-src.zip"]
    assert without_zip([*zips, *others, zips[0]]) == others
    assert without_zip(others) == others


def _where(_: Iterable[int]) -> Iterable[str]:
    import pyspark

    yield str(pyspark.__file__)


def test_a_worker_uses_the_pyspark_of_this_process(spark: "SparkSession") -> None:
    import pyspark

    assert spark.sparkContext.range(1, numSlices=1).mapPartitions(_where).collect() == [pyspark.__file__]
