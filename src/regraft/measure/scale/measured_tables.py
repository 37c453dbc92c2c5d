"""Measured tables for Spark, from wherever `regraft measure` has written them."""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from regraft.measure.schemas import TABLES
from regraft.measure.stored_files import stored
from regraft.model.delta import open_table, table_files
from regraft.model.measured import find_table
from regraft.model.store import open_store


def measured_table(session: SparkSession, place: str | Path, name: str) -> DataFrame | None:
    """The table `name` of the snapshot at a place, or the Delta table there; None if it is neither."""
    found = find_table(place, name)
    table = None if found is None else open_table(found.place, found.version)
    if found is None or table is None:
        return None
    return stored(session, open_store(found.place), [file.name for file in table_files(table)], TABLES[name])


def read_classes(session: SparkSession, place: str | Path) -> DataFrame:
    """Traffic classes: a measured table, or Parquet."""
    measured = measured_table(session, place, "traffic_classes")
    return session.read.parquet(str(Path(place).absolute())) if measured is None else measured
