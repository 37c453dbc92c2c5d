"""The same tables of the same records by DuckDB.

python -m benchmarks._measure_duckdb RECORDS OUT
"""

import json
import sys
from pathlib import Path
from typing import Any

import duckdb
from benchmarks._measure_clock import WIDTH, Clock

_PHASE = (
    "CASE WHEN t.begun IS NOT NULL THEN 'during' WHEN d.\"at\" < w.begun THEN 'before' ELSE 'untouched' END"
)
_NAMES = """
    SELECT broker, row_number() OVER (ORDER BY broker) - 1 AS n
    FROM (SELECT DISTINCT broker FROM r WHERE kind = 'health')"""
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
                            coalesce(sum(size), 0)::BIGINT AS bytes,
                            count(*) FILTER (kind = 'hop') AS hops_out,
                            count(*) FILTER (kind = 'delivery') AS deliveries, max(queue) AS queue,
                            max(memory) AS memory, max(cpu) - min(cpu) AS cpu,
                            max(not_recorded) - min(not_recorded) AS not_recorded
                     FROM r WHERE kind <> 'interest' GROUP BY ALL),
        arrived AS (SELECT "window", "to" AS broker, sum(messages)::BIGINT AS hops_in
                    FROM link_load GROUP BY ALL)
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


def run(records: Path, out: Path) -> dict[str, Any]:
    out.mkdir(parents=True, exist_ok=True)
    database = duckdb.connect()
    for setting in (
        "threads = 2",
        "memory_limit = '8GB'",
        "preserve_insertion_order = false",
        "TimeZone = 'UTC'",
    ):
        database.execute(f"SET {setting}")
    clock = Clock()
    # A delivery counts in the window of its publication.
    published = "epoch_us(\"at\") - CASE WHEN kind = 'delivery' THEN latency ELSE 0 END"
    window = f'make_timestamptz(({published}) // {WIDTH} * {WIDTH}) AS "window"'
    files = f"read_parquet('{records}/*/*/*.parquet', union_by_name = true)"
    database.execute(f"CREATE VIEW r AS SELECT *, {window} FROM {files}")
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
    print(json.dumps(run(Path(sys.argv[1]), Path(sys.argv[2]))))
