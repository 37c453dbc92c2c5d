"""Generated telemetry as clean records, in Parquet: `python -m benchmarks._measure_records FOLDER ROWS`."""

import json
import sys
import time

from benchmarks._measure_clock import WIDTH
from pyspark.sql import functions as f

from regraft.lab.workload import SHAPES, tree
from regraft.measure.conform import conform
from regraft.measure.generate.telemetry import TelemetrySettings, telemetry
from regraft.measure.schemas import CLEAN
from regraft.measure.session import start
from regraft.measure.windows import published, window_of

ROWS_PER_FILE = 2_500_000
RATE = 500.0
"""A hundred times IPITT's, so that a window holds as many records as a busy network's."""


def main() -> None:
    place, count = sys.argv[1], int(sys.argv[2])
    session = start("local[2]", memory="4g")
    began = time.perf_counter()
    settings = TelemetrySettings(count, rate=RATE, partitions=max(2, count // ROWS_PER_FILE))
    records = telemetry(session, tree(60, SHAPES[0]), settings)
    window = window_of(published(f.col("kind"), f.col("at"), f.col("latency")), WIDTH)
    conform(records.withColumn("window", window), CLEAN).write.parquet(place)
    print(json.dumps({"seconds": time.perf_counter() - began}))
    session.stop()


if __name__ == "__main__":
    main()
