"""Simulated runs of the brokers with every fault: nothing lost, repeated or reordered.

    scripts/bench soak                          # 2,000 seeds
    python -m benchmarks.soak --first 500 --seeds 100
    python -m benchmarks.soak --seed 17 --trace # one seed, with everything that happened
    python -m benchmarks.soak --bug NAME        # with a planted bug: how soon is it caught?
    scripts/bench soak --transformations --seeds 5000   # while plans are carried out, by those who die
    scripts/bench soak --healing --seeds 5000           # and brokers die for good, or are cut off

Exit code 1 if any seed fails. A seed that raises inside a core is a failure too.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext

from benchmarks._table import Line
from benchmarks._table import show as table
from rich.console import Console
from rich.progress import track

from regraft.testing.bugs import BUGS, planted
from regraft.testing.healing import heal
from regraft.testing.simulation import Outcome, simulate
from regraft.testing.transformation import transform

SHOWN = 3
"""For so many failures the end of the trace is printed."""
LINES = 15


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=2000, help="how many (default 2000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--bug", choices=BUGS, help="with this planted bug, until it is caught")
    parser.add_argument("--transformations", action="store_true", help="plans are carried out meanwhile")
    parser.add_argument("--healing", action="store_true", help="brokers die for good and are replaced")
    parser.add_argument("--trace", action="store_true", help="print everything that happened")
    return parser


def kind(chosen: argparse.Namespace) -> tuple[Callable[..., Outcome], str]:
    """What one run is, and the option that asks for it."""
    if chosen.healing:
        return heal, " --healing"
    return (transform, " --transformations") if chosen.transformations else (simulate, "")


def report(outcome: Outcome, chosen: argparse.Namespace, *, show: bool) -> None:
    """What one run has to say: its trace if wanted, its failure if any."""
    keep, (one, more) = chosen.trace, kind(chosen)
    if keep:
        print("\n".join(outcome.lines))
    if not outcome.violation:
        return
    print(f"seed {outcome.seed}: {outcome.violation}", flush=True)
    if show and not keep:
        last = one(outcome.seed, keep=True).lines[-LINES:]
        print("\n".join(f"    {line[:160]}" for line in last))
        print(f"  all of it: python -m benchmarks.soak{more} --seed {outcome.seed} --trace")


def main() -> int:
    chosen = options().parse_args()
    seeds = range(chosen.first, chosen.first + chosen.seeds) if chosen.seed is None else [chosen.seed]
    started = time.perf_counter()
    totals: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    failed: list[int] = []
    with planted(chosen.bug) if chosen.bug else nullcontext():
        for seed in track(seeds, "seeds", console=Console(stderr=True), transient=True):
            outcome = kind(chosen)[0](seed, keep=chosen.trace)
            report(outcome, chosen, show=len(failed) < SHOWN)
            failed += [seed] if outcome.violation else []
            faults += outcome.faults
            totals += Counter(runs=1, publications=outcome.publications, deliveries=outcome.deliveries)
            if chosen.bug and failed:
                break
    passed = f"{totals['runs'] - len(failed):,} of {totals['runs']:,}"
    happened = ", ".join(f"{number:,} {what}" for what, number in faults.most_common())
    counted = f"{totals['publications']:,} publications, {totals['deliveries']:,} deliveries; {happened}"
    line = Line(
        f"seeds{kind(chosen)[1]}: nothing lost, repeated, reordered",
        "all",
        f"{passed}: {counted}",
        not failed,
        {},
    )
    table([line], f"{time.perf_counter() - started:.1f} s", None)
    if failed:
        print(f"failed: {failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
