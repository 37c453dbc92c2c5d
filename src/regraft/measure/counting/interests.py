"""Reads interest records, if they are few, for Spark, which would take longer to open the files."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from regraft.measure.counting.pieces import Piece
from regraft.measure.schemas import CLEAN, INTEREST

FEW = 100_000
"""The most records that are read here."""
INTERESTS = StructType(
    [CLEAN[name] for name in ("kind", "at", "broker", "client", "role", "filter", "change")]
)
"""The columns that matter in an interest record."""
_ARROW = to_arrow_schema(INTERESTS, timezone="UTC")


def stored_interests(session: SparkSession, pieces: Sequence[Piece]) -> DataFrame | None:
    """The interest records of all windows; None if they are too many, or none."""
    held = [piece for piece in pieces if piece.kinds is None or piece.kinds[0] <= INTEREST <= piece.kinds[1]]
    if not 0 < sum(piece.rows for piece in held) <= FEW:
        return None
    return session.createDataFrame(pa.concat_tables(_read(piece) for piece in held))


def _read(piece: Piece) -> pa.Table:
    with pq.ParquetFile(piece.path) as file:
        rows = file.read_row_group(piece.group, _ARROW.names, use_threads=False)
    return rows.filter(pc.equal(rows["kind"], INTEREST)).cast(_ARROW)
