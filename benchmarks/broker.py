"""Brokers: acknowledged throughput, a chain of three, latency, against Mosquitto, amqtt, RabbitMQ.

Prints one table (Markdown) to standard output: what was promised, what was measured. Progress goes
to standard error. `--part` picks some, `--quick` runs three short trials instead of five. All brokers
are started here and stopped again; nothing else should run on the machine meanwhile.
"""

import argparse
import json
import signal
import sys
from pathlib import Path

from benchmarks._peers_parts import PARTS, Bench
from benchmarks._plan_parts import Line
from benchmarks.plan import machine
from rich.console import Console


def main() -> None:
    options = arguments().parse_args()
    # Ended from outside, we still stop what we started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    console = Console(stderr=True, highlight=False)
    trials, seconds, latency_seconds = (3, 1.0, 2.0) if options.quick else (5, 5.0, 10.0)
    bench = Bench(trials, seconds, latency_seconds, console.log)
    print(f"{machine()}; median of {trials}, {seconds:g} s each (latency {latency_seconds:g} s)\n")
    print("| what | wanted | measured | met |\n|---|---|---|---|", flush=True)
    lines: list[Line] = []
    for name in options.part or PARTS:
        for line in PARTS[name](bench):
            lines.append(line)
            met = {True: "yes", False: "**no**", None: "-"}[line.met]
            print(f"| {line.what} | {line.wanted} | {line.measured} | {met} |", flush=True)
            if options.out:
                content = {"machine": machine(), "lines": [line._asdict() for line in lines]}
                options.out.write_text(json.dumps(content, indent=1) + "\n")


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
