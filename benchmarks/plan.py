"""Planning: speed, scale and quality of the planners, and against the published and general ones.

Prints one table (Markdown) to standard output: what was promised, what was measured. Progress goes
to standard error. The whole run takes hours; `--part` picks some, `--quick` runs fewer topologies
with a limit of one minute, `--resume FILE` keeps every row and does not measure it again.
"""

import argparse
from pathlib import Path

from benchmarks._plan_parts import PARTS, Bench
from benchmarks._table import show
from rich.console import Console

from regraft.lab.records import Records
from regraft.lab.trial import Measurement, Trial


def main() -> None:
    options = arguments().parse_args()
    console = Console(stderr=True, highlight=False)
    bench = Bench(
        options.quick,
        options.time_limit or (60.0 if options.quick else 600.0),
        console.log,
        Records(options.resume, Trial, Measurement) if options.resume else None,
    )
    lines = (line for name in options.part or PARTS for line in PARTS[name](bench))
    about = f"{'quick, ' if bench.quick else ''}time limit {bench.time_limit:g} s"
    show(lines, about, options.out, quick=bench.quick, time_limit=bench.time_limit)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench plan", description=__doc__)
    parser.add_argument(
        "--part", action="append", choices=list(PARTS), help="only this part; may be repeated"
    )
    parser.add_argument("--quick", action="store_true", help="three topologies, one minute instead of ten")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="what slow planners get")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write everything measured as JSON")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="CSV of rows to keep and to continue")
    return parser


if __name__ == "__main__":
    main()
