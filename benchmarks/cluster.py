"""Brokers, a store and a Spark cluster on hosts that share nothing, with faults: a local run's tables."""

import argparse
import random
import sys
from pathlib import Path

from benchmarks._table import Line, show
from tests.measure.host_faults import TABLES, Endured, Faults, endure

from regraft.measure.schemas import TABLES as ALL
from regraft.testing.hosts import unavailable


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executor-kills", type=int, default=20)
    parser.add_argument("--driver-kills", type=int, default=10)
    parser.add_argument("--double-starts", type=int, default=20)
    parser.add_argument("--away", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--publications", type=int, default=3_000)
    parser.add_argument("--all-tables", action="store_true", help="not only one table of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if reason := unavailable():
        sys.exit(f"no lab of hosts here: {reason}")
    faults = Faults(options.executor_kills, options.driver_kills, options.double_starts, options.away)
    order = faults.in_order()
    random.Random(options.seed).shuffle(order)
    tables = tuple(ALL) if options.all_tables else TABLES
    endured = endure(
        faults,
        order,
        seed=options.seed,
        publications=options.publications,
        seconds=600.0,
        tables=tables,
        progress=0.5,
        say=lambda fault: print(fault, end=" ", file=sys.stderr, flush=True),
    )
    print(file=sys.stderr)
    about = (
        f"8 brokers, a store, a master, 2 workers and 2 drivers on hosts, speculation, seed {options.seed}"
    )
    lines = show([line(faults, endured)], about, options.out)
    print()
    for what in (endured.happened.ends, endured.happened.said):
        print(*(f"{count:4} {each}" for each, count in what.most_common()), sep="\n")
    raise SystemExit(not all(each.met for each in lines))


def line(faults: Faults, endured: Endured) -> Line:
    happened, wrong = endured.happened, endured.differences
    what = (
        f"{faults.executor_kills} executors and {faults.driver_kills} drivers killed, "
        f"{faults.double_starts} double starts, {faults.away:g} s without the store"
    )
    tables = "; ".join(wrong) if wrong else "the same tables"
    measured = f"{tables}, {endured.records} records, {happened.commits} commits, {endured.seconds:.0f} s"
    data = {
        "ends": dict(happened.ends),
        "said": dict(happened.said),
        "differences": wrong,
        "records": endured.records,
        "commits": happened.commits,
        "seconds": endured.seconds,
    }
    return Line(what, "exactly the tables of a local run", measured, not wrong, data)


if __name__ == "__main__":
    main()
