"""Records → tables, once by the pipeline's transforms on Spark, once by DuckDB: the same files, the same rows.

    python -m benchmarks._measure_tables spark|duckdb RECORDS OUT

prints how long it took, from opening the files until every table is written. Records are clean (they know
their window), as the pipeline stores them. Starting Java or importing a library is not counted on either
side; compiling and warming up are.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks._measure_child import cpu_seconds

WIDTH = 10_000_000
"""Microseconds: more windows than a run of 60 s would have, so that there is something to compare."""
MEMORY = "5g"


def main() -> None:
    side, records, out = sys.argv[1:4]
    run: Callable[[Path, Path], dict[str, Any]] = {"spark": spark, "duckdb": duckdb}[side]
    Path(out).mkdir(parents=True, exist_ok=True)
    print(json.dumps(run(Path(records), Path(out))))


class _Clock:
    """Seconds and processor seconds of each table."""

    def __init__(self) -> None:
        self.began, self.cpu = time.perf_counter(), cpu_seconds(os.getpid())
        self.tables: dict[str, float] = {}
        self._last = self.began

    def done(self, table: str) -> None:
        now = time.perf_counter()
        self.tables[table] = round(now - self._last, 2)
        self._last = now

    def answer(self) -> dict[str, Any]:
        cpu = cpu_seconds(os.getpid()) - self.cpu
        return {"seconds": self._last - self.began, "cpu": cpu, "tables": self.tables}


def spark(records: Path, out: Path) -> dict[str, Any]:
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

    session = start("local[2]", memory=MEMORY)
    clock = _Clock()
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


_PHASE = (
    "CASE WHEN t.begun IS NOT NULL THEN 'during' WHEN d.\"at\" < w.begun THEN 'before' ELSE 'untouched' END"
)
_NAMES = "SELECT broker, row_number() OVER (ORDER BY broker) - 1 AS n FROM (SELECT DISTINCT broker FROM r WHERE kind = 'health')"
SQL = {
    # The quicker of two ways, as far as 64 brokers go: sets as bits, not as lists of names.
    "traffic_classes": f"""
        WITH b AS MATERIALIZED ({_NAMES}),
        p AS (SELECT "window", publisher, seq, bit_or(1::UBIGINT << n) AS bits,
                     count(*) FILTER (kind = 'delivery') AS deliveries
              FROM r JOIN b USING (broker) WHERE kind IN ('publication', 'delivery') GROUP BY ALL),
        c AS (SELECT "window", bits, count(*) AS demand FROM p WHERE deliveries > 0 GROUP BY ALL),
        names AS (SELECT list(broker ORDER BY n) AS names FROM b)
        SELECT "window", demand, list_filter(names, lambda name, i: (bits >> (i - 1)) & 1 = 1) AS members
        FROM c, names""",
    "traffic_classes_of_lists": """
        WITH p AS (SELECT "window", publisher, seq, list_sort(list_distinct(list(broker))) AS members,
                          count(*) FILTER (kind = 'delivery') AS deliveries
                   FROM r WHERE kind IN ('publication', 'delivery') GROUP BY ALL)
        SELECT "window", members, count(*) AS demand FROM p WHERE deliveries > 0 GROUP BY ALL""",
    "link_load": """
        SELECT "window", "from", "to", count(*) AS messages, count(transformation) AS transformed
        FROM r WHERE kind = 'hop' GROUP BY ALL""",
    "broker_load": """
        WITH own AS (SELECT "window", broker, count(*) FILTER (kind = 'publication') AS publications,
                            coalesce(sum(size), 0)::BIGINT AS bytes, count(*) FILTER (kind = 'hop') AS hops_out,
                            count(*) FILTER (kind = 'delivery') AS deliveries, max(queue) AS queue,
                            max(memory) AS memory, max(cpu) - min(cpu) AS cpu,
                            max(not_recorded) - min(not_recorded) AS not_recorded FROM r GROUP BY ALL),
        arrived AS (SELECT "window", "to" AS broker, sum(messages)::BIGINT AS hops_in FROM link_load GROUP BY ALL)
        SELECT "window", broker, coalesce(publications, 0) AS publications, coalesce(bytes, 0) AS bytes,
               coalesce(hops_in, 0) AS hops_in, coalesce(hops_out, 0) AS hops_out,
               coalesce(deliveries, 0) AS deliveries, cpu, memory, queue, not_recorded
        FROM own FULL JOIN arrived USING ("window", broker)""",
    "latency": f"""
        WITH t AS (SELECT "window", publisher, seq, min("at") AS begun FROM r
                   WHERE kind = 'hop' AND transformation IS NOT NULL GROUP BY ALL),
        w AS (SELECT "window", min(begun) AS begun FROM t GROUP BY ALL)
        SELECT d."window", {_PHASE} AS phase, count(*) AS deliveries, quantile_disc(latency, 0.5) AS p50,
               quantile_disc(latency, 0.99) AS p99, quantile_disc(latency, 0.999) AS p999,
               avg(latency) AS mean, max(latency) AS largest
        FROM r d LEFT JOIN t ON d."window" = t."window" AND d.publisher = t.publisher AND d.seq = t.seq
        LEFT JOIN w ON d."window" = w."window" WHERE d.kind = 'delivery' GROUP BY ALL""",
    "interest": """
        SELECT broker, client, role, filter, regexp_extract(filter, 'topic = ''([^'']*)''', 1) AS topic,
               "at" AS since FROM r WHERE kind = 'interest' AND change = 'added'""",
}


def duckdb(records: Path, out: Path) -> dict[str, Any]:
    import duckdb

    database = duckdb.connect()
    for setting in (
        "threads = 2",
        "memory_limit = '8GB'",
        "preserve_insertion_order = false",
        "TimeZone = 'UTC'",
    ):
        database.execute(f"SET {setting}")
    clock = _Clock()
    database.execute(f"CREATE VIEW r AS SELECT * FROM read_parquet('{records}/*.parquet')")
    brokers = database.execute("SELECT count(DISTINCT broker) FROM r WHERE kind = 'health'").fetchone()
    assert brokers is not None
    skipped = "traffic_classes_of_lists" if brokers[0] <= 64 else "traffic_classes"
    for name, query in SQL.items():
        if name == skipped:
            continue
        table = name.removesuffix("_of_lists")
        database.execute(f"CREATE TABLE {table} AS {query}")
        database.execute(f"COPY {table} TO '{out / table}.parquet'")
        clock.done(table)
    return clock.answer()


if __name__ == "__main__":
    main()
