"""Records → tables by the pipeline on Spark.

    python -m benchmarks._measure_spark RECORDS OUT [--built-in]

prints how long it took, from opening the files until every table is written. Records are clean (they know
their window), as the pipeline stores them, and tables are computed and written as `publish` does it: several
at once. Starting Java is not counted; compiling and warming up are. `--built-in`: without counting file by
file (`regraft.measure.counting`).
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks._measure_clock import WIDTH, Clock
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.counting.interests import stored_interests
from regraft.measure.counting.pieces import Piece, Task, pieces_in, read
from regraft.measure.members import Brokers, names_in
from regraft.measure.publish import writing
from regraft.measure.schemas import CLEAN
from regraft.measure.session import settings_for, start
from regraft.measure.tables import Asked, Kept, compute, windows_in

MEMORY = "5g"
TABLES = frozenset({"traffic_classes", "interest", "latency", "broker_load", "link_load"})


def run(records: Path, out: Path, built_in: bool) -> dict[str, Any]:
    size = sum(path.stat().st_size for path in records.glob("*.parquet"))
    session = start("local[2]", memory=MEMORY, settings=settings_for(size))
    clock = Clock()
    rows = session.read.schema(CLEAN).parquet(str(records))
    pieces = () if built_in else pieces_in([records])
    windows = _windows(pieces) or windows_in(rows)
    brokers = Brokers.of(_brokers(pieces, windows) or names_in(rows.where(f.col("kind") == "health")))

    def interests() -> DataFrame:
        few = stored_interests(session, pieces)
        return rows.where(f.col("kind") == "interest") if few is None else few

    clock.done("opened")
    with Kept(Asked(WIDTH, tables=TABLES)) as kept, writing(out, clock.done, by=()) as kept.ready:
        compute(kept, rows, interests, brokers, windows, pieces)
        clock.done("planned")
    answer = clock.answer()
    session.stop()
    return answer


def _windows(pieces: tuple[Piece, ...]) -> list[int]:
    """All that the files can hold, from their statistics: the pipeline remembers them."""
    bounds = [piece.windows for piece in pieces]
    known = [each for each in bounds if each is not None]
    if not known or len(known) < len(bounds):
        return []
    return list(range(min(low for low, _ in known), max(high for _, high in known) + 1, WIDTH))


def _brokers(pieces: tuple[Piece, ...], windows: list[int]) -> set[str]:
    """Those that say how they fare: what the pipeline remembers, too."""
    held = tuple(piece for piece in pieces if piece.may_hold(("health",), windows))
    batches = read(Task(held, tuple(windows)), ("health",), ("broker",))
    return {name for batch in batches for name in batch.column("broker").cast("string").unique().to_pylist()}


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), Path(sys.argv[2]), "--built-in" in sys.argv)))
