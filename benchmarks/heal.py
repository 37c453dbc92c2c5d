"""Healing: crashes under load (Mimosa Pudica §5), the repair decision, moving components, a soak of kills.

scripts/bench heal                     everything but the soak
scripts/bench heal --part soak         15 nodes, kill -9 every 3 s for 5 minutes at 500 messages/s
scripts/bench heal --part soak --seconds 60
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import _heal_repair
from benchmarks._table import Line, show

PARTS = ("crash", "repair", "components", "soak")


def main() -> None:
    options = arguments().parse_args()
    parts = options.part or [part for part in PARTS if part != "soak"]
    shown = show(lines(parts, options), f"healing: {', '.join(parts)}", options.out)
    sys.exit(0 if all(line.met is not False for line in shown) else 1)


def lines(parts: list[str], options: argparse.Namespace) -> Iterator[Line]:
    if "crash" in parts:
        from benchmarks import _heal_crash  # noqa: PLC0415 — parts need different things

        yield from _heal_crash.lines(options.rounds, options.seed, options.setting)
    if "repair" in parts:
        yield from _heal_repair.lines()
    if "components" in parts:
        from benchmarks import _heal_components  # noqa: PLC0415

        yield from _heal_components.lines()
    if "soak" in parts:
        from benchmarks import _heal_soak  # noqa: PLC0415

        yield from _heal_soak.lines(options.seconds, options.every, options.rate, options.seed)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench heal", description=__doc__.split("\n\n")[0])
    parser.add_argument("--part", action="append", choices=PARTS, help="only these (may be repeated)")
    parser.add_argument("--rounds", type=int, default=15, help="crashes of each setting (default 15)")
    parser.add_argument("--setting", default="", choices=("simple", "bottleneck"), help="of the crashes")
    parser.add_argument("--seconds", type=float, default=300.0, help="of the soak (default 300)")
    parser.add_argument("--every", type=float, default=3.0, help="seconds between two kills (default 3)")
    parser.add_argument("--rate", type=float, default=500.0, help="messages per second of the soak (500)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="JSON of all rows")
    return parser


if __name__ == "__main__":
    main()
