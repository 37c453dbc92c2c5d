"""Keeps the table `interest`, which describes all of time: new records change rows of any window.

Its rows say as much as the records from which they were made. So it is made anew from its own rows and the
new records, and no record of interest is kept. Brokers tell their interest again every few minutes, which
changes nothing.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from regraft.measure.lake import Lake, with_date
from regraft.measure.schemas import TABLES
from regraft.measure.stored_files import are_few, rows_in
from regraft.measure.taking_in import TakenFile, good_records
from regraft.measure.transforms.filters import filters_read
from regraft.measure.transforms.interest import KEY, interest, told_by
from regraft.model.store import Store

NAME = "interest"


def update_interests(
    spark: SparkSession, store: Store, lake: Lake, files: Sequence[TakenFile], width: int
) -> None:
    """Make the table anew, with the records of interest in these files, if they change anything."""
    if not files:
        return
    told = good_records(spark, store, files, width).where("kind = 'interest'")
    told = told.select("kind", *KEY, "at", "change")
    if NAME in lake.versions:
        known = lake.frame(spark, NAME, TABLES[NAME])
        if not _new(told, known).limit(1).collect():
            return
        told = told_by(known).unionByName(told)
    records = told.persist()
    try:
        table = interest(records, filters_read(records), width)
        # Rows that are deleted can still be read: their files stay for hours.
        count = sum(file.rows for file in files) + (rows_in(lake.files(NAME)) or 0)
        lake.delete(NAME)
        lake.append(NAME, with_date(table.coalesce(1)), few=are_few(spark, count))
    finally:
        records.unpersist()


def _new(told: DataFrame, known: DataFrame) -> DataFrame:
    """Records that say something else than the rows: an addition of what holds since then or before says
    nothing new."""
    holds = known.where("until IS NULL").groupBy(*KEY).agg(f.min("since").alias("since"))
    same = [f.col(f"t.{name}") == f.col(f"h.{name}") for name in KEY]
    same += [f.col("t.change") == "added", f.col("t.at") >= f.col("h.since")]
    return told.alias("t").join(holds.alias("h"), same, "left_anti")
