"""Simulated runs of the brokers with every fault: nothing lost, repeated or reordered.

    scripts/bench soak                          # 2,000 seeds
    python -m benchmarks.soak --first 500 --seeds 100
    python -m benchmarks.soak --seed 17 --trace # one seed, with everything that happened
    python -m benchmarks.soak --bug NAME        # with a planted bug: how soon is it caught?

Exit code 1 if any seed fails. A seed that raises inside a core is a failure too.
"""

import argparse
import sys
import time
from collections import Counter
from contextlib import nullcontext

from regraft.testing.bugs import BUGS, planted
from regraft.testing.simulation import simulate


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--seeds", type=int, default=2000, help="how many (default 2000)")
    options.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    options.add_argument("--seed", type=int, help="only this one")
    options.add_argument("--bug", choices=BUGS, help="with this planted bug, until it is caught")
    options.add_argument("--trace", action="store_true", help="print everything that happened")
    chosen = options.parse_args()
    seeds = range(chosen.first, chosen.first + chosen.seeds) if chosen.seed is None else [chosen.seed]
    started = time.perf_counter()
    totals: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    failed = []
    for seed in seeds:
        with planted(chosen.bug) if chosen.bug else nullcontext():
            outcome = simulate(seed, keep=chosen.trace)
        if chosen.trace:
            print("\n".join(outcome.lines))
        if outcome.violation:
            failed.append(seed)
            print(f"seed {seed}: {outcome.violation}", flush=True)
        faults += outcome.faults
        totals["publications"] += outcome.publications
        totals["deliveries"] += outcome.deliveries
        if chosen.bug and failed:
            break
    print(f"{len(seeds) - len(failed)} of {len(seeds)} seeds passed in {time.perf_counter() - started:.1f} s")
    print(", ".join(f"{number} {what}" for what, number in totals.items()))
    print("faults: " + ", ".join(f"{number} {kind}" for kind, number in faults.most_common()))
    if failed:
        print(f"failed: {failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
