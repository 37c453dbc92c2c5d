"""Records → tables by the pipeline's transforms on Spark.

    python -m benchmarks._measure_spark RECORDS OUT

prints how long it took, from opening the files until every table is written. Records are clean (they know
their window), as the pipeline stores them. Starting Java is not counted; compiling and warming up are.
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks._measure_clock import WIDTH, Clock
from pyspark.sql import functions as f

from regraft.measure.members import Brokers, names_in
from regraft.measure.schemas import CLEAN
from regraft.measure.session import start
from regraft.measure.transforms.broker_load import broker_load
from regraft.measure.transforms.filters import filters_read
from regraft.measure.transforms.interest import interest
from regraft.measure.transforms.latency import latency, latency_counts, touched
from regraft.measure.transforms.link_load import hops, link_load
from regraft.measure.transforms.publications import by_class_and_topic, publications
from regraft.measure.transforms.traffic_classes import class_sets, traffic_classes
from regraft.measure.transforms.transformations import transformations

MEMORY = "5g"


def run(records: Path, out: Path) -> dict[str, Any]:
    session = start("local[2]", memory=MEMORY)
    clock = Clock()
    rows = session.read.schema(CLEAN).parquet(str(records))
    brokers = Brokers.of(names_in(rows.where(f.col("kind") == "health")))
    clock.done("brokers")
    made = transformations(rows).agg(f.coalesce(f.sum("hops"), f.lit(0)).alias("hops")).collect()[0].hops
    clock.done("transformations")
    carried = hops(rows).persist()
    asked = rows.where(f.col("kind") == "interest")
    classes = class_sets(by_class_and_topic(publications(rows, brokers), brokers), brokers)
    tables = {
        "traffic_classes": traffic_classes(classes, brokers),
        "link_load": link_load(carried, WIDTH),
        "broker_load": broker_load(rows, carried, WIDTH),
        "latency": latency(latency_counts(rows, touched(rows, made))),
        "interest": interest(asked, filters_read(asked), WIDTH),
    }
    for name, table in tables.items():
        table.write.mode("overwrite").parquet(str(out / name))
        clock.done(name)
    answer = clock.answer()
    session.stop()
    return answer


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), Path(sys.argv[2]))))
