"""Makes Spark start in half the time: `python -m regraft.measure.warm`.

Java writes the classes that a small run has loaded into an archive (class data sharing). Later runs find them
there instead of looking for each in Spark's 280 jars. Java ignores an archive from another version of Java or
Spark.
"""

import os
import tempfile
from pathlib import Path

from regraft.measure.follow import follow
from regraft.measure.generate.telemetry import TelemetrySettings, telemetry
from regraft.measure.run import Job, run
from regraft.measure.session import ARCHIVE, JAVA, SMALL, end_java, start
from regraft.measure.stored_files import FEW_ROWS
from regraft.model import Topology
from regraft.model.store import open_store
from regraft.protocol.telemetry import Interest
from regraft.segments.names import SegmentName
from regraft.segments.writing import segment

ROWS = 1_000
_WIDTH = 10_000_000
_AT = 1_767_225_600_000_000
_TOLD = Interest(at=_AT, broker="a", client="s", role="subscriber", filter="topic = 't'", change="added")


def warm() -> None:
    """Measure a few records, from files and as a stream, so that all classes in use are loaded."""
    ARCHIVE.parent.mkdir(parents=True, exist_ok=True)
    new = ARCHIVE.with_name(f"{ARCHIVE.name}.{os.getpid()}.new")
    with tempfile.TemporaryDirectory() as folder:
        _measure(Path(folder), new)
    if new.exists():
        new.replace(ARCHIVE)


def _measure(folder: Path, archive: Path) -> None:
    session = start("local[2]", settings={JAVA: SMALL[JAVA]}, writing=archive)
    session.conf.set(FEW_ROWS, "0")  # all classes, not only those for few rows
    records = telemetry(session, Topology.of([("a", "b"), ("b", "c")]), TelemetrySettings(ROWS, partitions=1))
    records.write.parquet(str(folder / "files"))
    run(Job(folder / "files", folder / "of-files", _WIDTH), session)
    session.conf.unset(FEW_ROWS)
    name = SegmentName("a", "2026-01-01T00", _AT, 1)
    open_store(folder / "segments").put(name.path, segment("a", [_TOLD]))
    follow(Job(folder / "segments", folder / "of-segments", _WIDTH), session, idle=1.0)
    session.stop()
    end_java()


if __name__ == "__main__":
    warm()
