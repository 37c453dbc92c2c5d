"""What brokers have measured of the way from one to another: of links, and of pairs that could be linked."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import conform, of_kind
from regraft.measure.schemas import TABLES

MOST = 1e15
"""A larger number is a fault of its writer, and would not fit into the table either."""


def link_costs(records: DataFrame) -> DataFrame:
    """One row for each ordered pair whose round trip is in a health record of the window.

    The least round trip says most about the way, because queues only add to it; the largest rate is the
    nearest to what the link could carry. `linked`: the link was up in one of these records.
    """
    told = of_kind(records, "health").select(
        "window",
        f.col("broker").alias("from"),
        f.explode("round_trips").alias("to", "round_trip"),
        "delivery_rates",
        "links",
    )
    state = f.try_element_at("links", f.col("to"))
    rate = f.try_element_at("delivery_rates", f.col("to"))
    table = (
        told.where(_plausible(f.col("round_trip")))
        .groupBy("window", "from", "to")
        .agg(
            f.min("round_trip").alias("round_trip"),
            f.max(f.when(_plausible(rate), rate)).alias("bytes_per_second"),
            f.bool_or(f.coalesce(state == "up", f.lit(False))).alias("linked"),
        )
    )
    return conform(table, TABLES["link_costs"])


def _plausible(number: Column) -> Column:
    """Spark sorts NaN above every number."""
    return (number > 0) & (number <= MOST)
