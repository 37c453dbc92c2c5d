"""The data pipeline on Spark: from raw telemetry to the tables of a snapshot.

`measure(source, window) -> Snapshot` is its entry point; `views(session, place)` shows tables to Spark SQL.
Spark is loaded when they are called.
"""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from regraft.model.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


__all__ = ["measure", "views"]


def measure(
    source: str | Path,
    window: str = "60s",
    *,
    out: str | Path | None = None,
    session: "SparkSession | None" = None,
    top: int | None = None,
) -> Snapshot:
    """A snapshot of the telemetry in `source`, in windows of this length.

    Tables are written to `out` (by default a new temporary folder). If it has tables already, only what is
    new in the source is read. Without a session one is started on this machine, and left running.
    """
    from regraft.measure.run import Job, run  # noqa: PLC0415 — loads pyspark
    from regraft.measure.session import start  # noqa: PLC0415
    from regraft.measure.windows import microseconds  # noqa: PLC0415

    folder = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="regraft-measure-"))
    job = Job(Path(source), folder, microseconds(window, "window"), top=top)
    return run(job, session or start()).snapshot


def views(session: "SparkSession", place: str | Path) -> Snapshot:
    """Make a temporary view of each table at a place, so that `session.sql` can ask for them.

    All views are of one snapshot, which is returned. They can be read for six hours; then files that newer
    snapshots do not need may be removed."""
    from regraft.measure.scale.measured_tables import show_views  # noqa: PLC0415 — loads pyspark

    return show_views(session, place)
