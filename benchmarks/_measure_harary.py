"""HararyPT on Spark over a generated interest table: `python -m benchmarks._measure_harary --help`."""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from benchmarks._measure_child import cpu_seconds

from regraft.measure.generate.interest import interest
from regraft.measure.scale.harary import harary
from regraft.measure.scale.interest import numbered, read_interest
from regraft.measure.scale.topic_connectivity import topic_connectivity
from regraft.measure.session import start


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    for name, default in (("nodes", 1_000_000), ("topics", 10_000), ("subscriptions", 30), ("k", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--memory", default="5g")
    parser.add_argument("--check", action="store_true", help="also prove k for every topic")
    print(json.dumps(run(parser.parse_args())))


def run(options: argparse.Namespace) -> dict[str, Any]:
    session = start("local[2]", memory=options.memory)
    source, out = options.folder / "interest", options.folder / "links"
    workload = interest(session, options.nodes, options.topics, options.subscriptions)
    workload.write.mode("overwrite").parquet(str(source))
    began, cpu = time.perf_counter(), cpu_seconds(os.getpid())
    with numbered(read_interest(session, source)) as tables:
        harary(tables, options.k).write.mode("overwrite").parquet(str(out))
        answer: dict[str, Any] = {
            "seconds": time.perf_counter() - began,
            "cpu": cpu_seconds(os.getpid()) - cpu,
            "rows": options.nodes * options.subscriptions,
        }
        links = session.read.parquet(str(out))
        answer |= {"links": links.count(), "average_degree": 2 * links.count() / options.nodes}
        if options.check:
            began = time.perf_counter()
            rows = topic_connectivity(tables, links, options.k).groupBy("holds").count().collect()
            answer["topics"] = {str(row.holds): row["count"] for row in rows}
            answer["check_seconds"] = time.perf_counter() - began
    session.stop()
    return answer


if __name__ == "__main__":
    main()
