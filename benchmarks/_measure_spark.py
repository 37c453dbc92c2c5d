"""Records → tables by the pipeline on Spark.

    python -m benchmarks._measure_spark RECORDS OUT

prints how long it took, from looking at the segments until all tables are committed. Starting Java is not
counted; compiling and warming up are.
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks._measure_clock import WIDTH, Clock

from regraft.measure.run import Job, run
from regraft.measure.session import settings_for, start

MEMORY = "5g"
TABLES = frozenset({"traffic_classes", "interest", "latency", "broker_load", "link_load"})


def measure(records: Path, out: Path) -> dict[str, Any]:
    size = sum(path.stat().st_size for path in records.rglob("*.parquet"))
    session = start("local[2]", memory=MEMORY, settings=settings_for(size))
    clock = Clock()
    ran = run(Job(records, out, WIDTH, tables=TABLES), session, clock.done)
    clock.done("committed")
    session.stop()
    return clock.answer() | {"counts": ran.counts.as_json()}


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), Path(sys.argv[2]))))
