"""The loop: how soon it acts, what it costs (24 brokers), what it saves (200 brokers, a shifting hot spot).

scripts/bench loop                        the demo's overlay
scripts/bench loop --part large           200 brokers, two minutes without the loop's changes, two with
scripts/bench loop --part large --quick   40 brokers, 40 s each
"""

import argparse
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks._table import Line, show

PARTS = ("demo", "large")


def lines(given: argparse.Namespace) -> Iterator[Line]:
    parts = given.part or ["demo"]
    if "demo" in parts:
        from benchmarks import _loop_demo  # noqa: PLC0415 — parts need different things

        yield from _loop_demo.lines(given.window, given.rate, given.idle)
    if "large" in parts:
        from benchmarks import _loop_large  # noqa: PLC0415

        yield from _loop_large.lines(_loop_large.sized(given.quick, given.seed), given.keep)


def main() -> int:
    options = argparse.ArgumentParser(
        prog="scripts/bench loop", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--part", action="append", choices=PARTS, help="default demo; may be repeated")
    options.add_argument("--window", type=int, default=10, help="seconds (demo)")
    options.add_argument("--rate", type=int, default=200, help="publications a second (demo)")
    options.add_argument("--idle", type=float, default=60.0, help="seconds of the idle measurement (demo)")
    options.add_argument("--quick", action="store_true", help="40 brokers, 200 subscribers, 40 s (large)")
    options.add_argument("--seed", type=int, default=1, help="of the workload (large)")
    options.add_argument("--keep", type=Path, metavar="FOLDER", help="of what the runs wrote (large)")
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    # Whoever ends the benchmark ends all that it has started.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    shown = show(lines(given), f"the loop: {', '.join(given.part or ['demo'])}", given.out)
    return 0 if all(line.met is not False for line in shown) else 1


if __name__ == "__main__":
    sys.exit(main())
