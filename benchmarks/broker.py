"""Brokers: acknowledged throughput, a chain of three, latency, against Mosquitto, amqtt, RabbitMQ.

Prints one table (Markdown) to standard output: what was promised, what was measured. Progress goes
to standard error. `--part` picks some, `--quick` runs three short trials instead of five. All brokers
are started here and stopped again; nothing else should run on the machine meanwhile.
"""

import argparse
import signal
import sys
from pathlib import Path

from benchmarks._peer_regraft import Regraft
from benchmarks._peers_parts import PARTS, Bench
from benchmarks._table import show
from rich.console import Console


def main() -> None:
    options = arguments().parse_args()
    # Ended from outside, we still stop what we started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    console = Console(stderr=True, highlight=False)
    trials, seconds, latency_seconds = (3, 1.0, 2.0) if options.quick else (5, 5.0, 10.0)
    bench = Bench(trials, seconds, latency_seconds, console.log, ours=Regraft())
    lines = (line for name in options.part or PARTS for line in PARTS[name](bench))
    show(lines, f"median of {trials}, {seconds:g} s each (latency {latency_seconds:g} s)", options.out)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench broker", description=__doc__)
    parser.add_argument(
        "--part", action="append", choices=list(PARTS), help="only this part; may be repeated"
    )
    parser.add_argument("--quick", action="store_true", help="three trials of 1 s instead of five of 5 s")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write everything measured as JSON")
    return parser


if __name__ == "__main__":
    main()
