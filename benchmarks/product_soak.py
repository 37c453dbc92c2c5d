"""The whole product for an hour: demo size, a random failure every minute, hot spots that move.

scripts/bench product_soak                               one hour, 24 nodes
scripts/bench product_soak --seconds 300 --nodes small   a short run with eight nodes
scripts/bench product_soak --seed 7 --out soak.json

Nodes, ZooKeeper, databases, clients and the loop with its Spark run as in `regraft demo`. Exit code 0 only if
nothing was lost, duplicated or reordered, every failure was healed, and memory stayed flat.
"""

import argparse
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from benchmarks._product_memory import CEILINGS, JUDGED, MIB, Growth
from benchmarks._table import Line, show

# Nodes are forked from a process that loads this file: what they need not have is loaded later.
if TYPE_CHECKING:
    from benchmarks._product_run import Soaked


def main() -> int:
    from benchmarks._product_run import Asked, soak  # noqa: PLC0415

    from regraft.broker.io.running import run  # noqa: PLC0415

    options = arguments().parse_args()
    asked = Asked(
        options.nodes == "small", options.seconds, options.every, options.shift, options.rate, options.seed
    )
    if options.log:
        form = "%(asctime)s %(name)s: %(message)s"
        logging.basicConfig(filename=options.log, level="INFO", format=form)
    about = f"{asked.seconds:g} s, a failure every {asked.every:g} s, seed {asked.seed}"
    details: dict[str, Any] = {}
    with TemporaryDirectory(prefix="regraft-soak-", ignore_cleanup_errors=True) as folder:
        place = options.keep or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        soaked = run(soak(asked, place))
    details |= soaked.as_json()
    shown = show(lines(soaked), about, options.out, soak=details)
    return 0 if all(line.met is not False for line in shown) else 1


def lines(soaked: "Soaked") -> Iterator[Line]:
    counts = soaked.counts
    wrong = (counts.lost, counts.duplicated, counts.reordered, counts.unwanted, counts.unacknowledged)
    yield Line(
        f"lost, duplicated, reordered, unwanted of {counts.due:,} due; not acknowledged "
        f"of {counts.published:,} published",
        "0, 0, 0, 0; 0",
        "{}, {}, {}, {}; {}".format(*wrong),
        counts.flawless and counts.published > 0,
        {"counts": soaked.as_json()["counts"]},
    )
    yield _healing(soaked)
    nodes = [each for each in soaked.failures if each.kind == "node"]
    around = sorted(each.around for each in nodes if each.around is not None)
    median = f"; median {around[len(around) // 2]:.1f} s" if around else ""
    yield Line(
        f"of {len(nodes)} killed nodes, removed by the others before they were back",
        "-",
        f"{len(around)}{median}",
        None,
        {"removed": len(around)},
    )
    yield Line("at the end: all nodes in one tree, loop ready", "yes", soaked.end, soaked.end == "yes", {})
    yield Line(
        "delivery",
        "-",
        f"p50 {soaked.latencies.quantile(0.5):.0f} ms, p99 {soaked.latencies.quantile(0.99):.0f}, "
        f"worst {soaked.latencies.worst:.0f}"
        if soaked.latencies.count
        else "nothing",
        None,
        {},
    )
    yield Line("hot spots moved; loop", "-", soaked.loop_text, None, soaked.loop)
    yield Line("adaptations of healing", "-", soaked.healing_text, None, soaked.adaptations)
    for growth in soaked.growths:
        yield _memory(growth)
    for name, (early, late) in soaked.disks.items():
        yield Line(
            f"disk, {name}: after a third of the time, at the end",
            "-",
            f"{early / MIB:.0f} MiB, {late / MIB:.0f} MiB",
            None,
            {"early": early, "late": late},
        )


def _healing(soaked: "Soaked") -> Line:
    from benchmarks._product_failures import HEAL_SECONDS  # noqa: PLC0415

    healed = sorted(each.healed for each in soaked.failures if each.healed is not None)
    missing = [each for each in soaked.failures if each.healed is None]
    kinds = sorted({each.kind for each in soaked.failures})
    of = ", ".join(f"{sum(each.kind == kind for each in soaked.failures)} {kind}" for kind in kinds)
    times = f"; median {healed[len(healed) // 2]:.1f} s, slowest {healed[-1]:.1f} s" if healed else ""
    return Line(
        f"failures healed within {HEAL_SECONDS:g} s ({of})",
        f"{len(soaked.failures)}",
        f"{len(healed)}{times}",
        not missing and bool(soaked.failures),
        {"not_healed": [f"{each.kind} {each.victim}: {each.note}" for each in missing]},
    )


def _memory(growth: Growth) -> Line:
    ceiling = CEILINGS.get(growth.kind)
    wanted = f"<= {growth.bound / MIB:.1f} MiB/h" if growth.kind in JUDGED else "-"
    if ceiling is not None:
        wanted = f"never above {ceiling / MIB:.0f} MiB"
    slope = (
        "too short" if growth.slope is None else f"{growth.slope / MIB:+.2f} MiB/h in {growth.lives} lives"
    )
    total = "" if growth.total_slope is None else f"; all together {growth.total_slope / MIB:+.1f} MiB/h"
    return Line(
        f"memory, {growth.kind}: growth of a process of {growth.level / MIB:.0f} MiB (x {growth.processes})",
        wanted,
        f"{slope}{total}; highest {growth.highest / MIB:.0f} MiB",
        growth.flat,
        {},
    )


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench product_soak", description=__doc__.split("\n\n")[0])
    parser.add_argument("--nodes", choices=("all", "small"), default="all", help="24, or eight (default all)")
    parser.add_argument("--seconds", type=float, default=3600.0, help="of traffic (default 3600)")
    parser.add_argument("--every", type=float, default=60.0, help="seconds between two failures (60)")
    parser.add_argument("--shift", type=float, default=240.0, help="seconds until hot spots move (240)")
    parser.add_argument("--rate", type=float, default=60.0, help="events a second of all publishers (60)")
    parser.add_argument("--seed", type=int, default=1, help="of failures and hot spots (default 1)")
    parser.add_argument("--out", type=Path, help="JSON of everything")
    parser.add_argument("--keep", type=Path, help="folder for telemetry, tables and logs, which stays")
    parser.add_argument("--log", type=Path, help="file for the log of the loop")
    return parser


if __name__ == "__main__":
    sys.exit(main())
