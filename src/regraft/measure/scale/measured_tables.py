"""Measured tables for Spark, from wherever `regraft measure` has written them.

Spark as it comes from PyPI does not know Delta tables: their log is read by the driver, their files by Spark.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from regraft.measure.schemas import TABLES
from regraft.measure.stored_files import rows_in, stored
from regraft.model.delta import open_table, table_files
from regraft.model.measured import find_table
from regraft.model.snapshot import Snapshot, read_snapshot
from regraft.model.store import open_store

if TYPE_CHECKING:
    from deltalake import DeltaTable


def measured_table(session: SparkSession, place: str | Path, name: str) -> DataFrame | None:
    """The table `name` of the snapshot at a place, or the Delta table there; None if it is neither."""
    found = find_table(place, name)
    table = None if found is None else open_table(found.place, found.version)
    if found is None or table is None:
        return None
    return _table(session, found.place, table, name)


def show_views(session: SparkSession, place: str | Path) -> Snapshot:
    """Makes a temporary view of each table, for Spark SQL. All are those of the snapshot that is returned."""
    snapshot = read_snapshot(place)
    for name in sorted(TABLES):
        version = snapshot.table_version(name)
        table = None if version is None else open_table(snapshot.table(name), version)
        if table is not None:
            _table(session, snapshot.table(name), table, name).createOrReplaceTempView(name)
        else:
            session.catalog.dropTempView(name)  # of an earlier snapshot
    return snapshot


def _table(session: SparkSession, place: str, table: "DeltaTable", name: str) -> DataFrame:
    files = table_files(table)
    names = [file.name for file in files]
    return stored(session, open_store(place), names, TABLES[name], rows_in(files))


def read_classes(session: SparkSession, place: str | Path) -> DataFrame:
    """Traffic classes: a measured table, or Parquet."""
    measured = measured_table(session, place, "traffic_classes")
    return session.read.parquet(str(Path(place).absolute())) if measured is None else measured
