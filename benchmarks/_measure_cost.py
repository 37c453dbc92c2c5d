"""What telemetry costs a broker: a run through one with it, then one without it, in turns.

    python -m benchmarks._measure_cost FOLDER --turns 15 --seconds 3 --one-in 100

The rate is that of acknowledged publications of 256 bytes from one publisher to one subscriber; the processor
time is that of the broker alone, which other processes on the machine disturb less.
"""

import argparse
import json
import os
from pathlib import Path

from benchmarks._load import Load
from benchmarks._load_run import run
from benchmarks._peer_regraft import Regraft, RegraftChain

WARM = 20_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--one-in", type=int, default=100)
    options = parser.parse_args()
    turns = []
    with Regraft().chain(1) as without, Regraft(one_in=options.one_in).chain(1) as sampled:
        rate = min(run(chain, Load(WARM)).rate for chain in (without, sampled, without, sampled))
        load = Load(int(rate * options.seconds))
        for turn in range(options.turns):
            pair = [without, sampled]
            order = pair if turn % 2 else pair[::-1]
            found = {id(chain): measured(chain, load) for chain in order}
            turns.append([found[id(chain)] for chain in pair])
    print(json.dumps({"turns": turns, "publications": load.count}))


def measured(chain: RegraftChain, load: Load) -> tuple[float, float]:
    """Publications a second, and the broker's processor time for each, in microseconds."""
    before = processor_seconds(chain)
    outcome = run(chain, load)
    assert outcome.complete, outcome
    return outcome.rate, (processor_seconds(chain) - before) / load.count * 1e6


def processor_seconds(chain: RegraftChain) -> float:
    ticks = 0
    for process in chain.processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
