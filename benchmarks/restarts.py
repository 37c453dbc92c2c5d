"""`regraft measure --follow`, killed at random moments while brokers write: the end is that of a batch."""

import argparse
import random
import tempfile
import time
from pathlib import Path

from benchmarks._table import Line, show
from tests.measure.restarts import TABLES, Writer, kill_again_and_again
from tests.measure.snapshots import table
from tests.measure.telemetry import WIDTH, network

from regraft.measure.run import Job, run
from regraft.measure.session import start
from regraft.measure.tables import ALL
from regraft.model.snapshot import read_snapshot


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--publications", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    about = f"{options.kills} kills, {options.publications} publications, seed {options.seed}"
    lines = show([measured(options.kills, options.publications, options.seed)], about, options.out)
    raise SystemExit(not all(line.met for line in lines))


def measured(kills: int, publications: int, seed: int) -> Line:
    with tempfile.TemporaryDirectory() as folder:
        place, chance = Path(folder), random.Random(seed)
        writer = Writer(place / "in", network(seed, publications))
        began = time.monotonic()
        killed = kill_again_and_again(writer, place / "stream", kills, chance)
        seconds = time.monotonic() - began
        spark = start("local[2]", memory="2g")
        run(Job(place / "in", place / "batch", WIDTH, tables=frozenset(TABLES) & ALL), spark)
        counts = [read_snapshot(place / name).counts for name in ("stream", "batch")]
        tables = [[table(place / folder, name) for name in TABLES] for folder in ("stream", "batch")]
        same = counts[0] == counts[1] and tables[0] == tables[1]
        spark.stop()
    found = f"{'the same tables' if same else 'other tables'}, {counts[0].kept} records, {seconds:.0f} s"
    data = {"commits_at_kills": killed, "kept": counts[0].kept, "seconds": seconds}
    return Line(f"stream killed (-9) {kills} times", "exactly the batch's tables", found, same, data)


if __name__ == "__main__":
    main()
