"""Every figure of RESULTS.md, measured one after the other on one commit (about 90 minutes on two cores).

    scripts/bench results --data FOLDER           all parts, then benchmarks/RESULTS.md is written
    scripts/bench results --data FOLDER --only heal --only loop

`--data` is the folder with the networks of others (`topology_zoo`, `steinlib`, …). What a part printed is
kept under out/bench/results/COMMIT, and a part that is there is not measured again: an interrupted run
continues. Nothing else should run on the machine. Longer runs than these (the papers' sweeps, an hour's soak)
have their own commands, which the page names.
"""

import argparse
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks._table import machine
from rich.console import Console

PAGE = Path("benchmarks/RESULTS.md")
KEPT = Path("out/bench/results")
DATA = "DATA"
"""Stands for the folder that `--data` names."""


class Part(NamedTuple):
    section: str
    command: str
    """The benchmark and its options, as `scripts/bench` takes them."""
    about: str = ""


PARTS = (
    Part(
        "Planning",
        "plan --quick --part first --part memory --part exact",
        "Trees of IPITT §VI-A with 20 % of the links changed. Every run is a process of its own; time is "
        "measured around the whole of `make_plan`, the replay of the plan included, after a small one.",
    ),
    Part("Planning", "plan --quick --time-limit 60 --part seed --part downward --part best-first"),
    Part("Planning", "brute_force --size 5", "Every pair of trees on five brokers, against brute force."),
    Part(
        "Brokers",
        "broker",
        "Publisher, brokers and subscriber are processes of their own on loopback; 256 bytes of data; "
        "everything is acknowledged end to end. All events have equal attributes, which is our best case: a "
        "broker then routes by their bytes.",
    ),
    Part("Brokers", "chain"),
    Part("Brokers", "overlay"),
    Part("Brokers", "hostile --rounds 3"),
    Part("Brokers", "matching --quotes DATA/events/padres_stockquotes"),
    Part("Simulated faults", "soak --seeds 1000", "What ships, on a virtual network and clock."),
    Part("Simulated faults", "soak --transformations --seeds 1000"),
    Part("Simulated faults", "soak --healing --seeds 1000"),
    Part("Live transformation", "apply --part single --part parallel --part many"),
    Part("Live transformation", "chaos"),
    Part("Designs", "design --data DATA --quick --part mesh-speed --part mesh-links --part mesh-optimum"),
    Part("Designs", "design --data DATA --part exhaustive --part steinlib"),
    Part("Data pipeline", "measure --part tables --repeat 3"),
    Part("Data pipeline", "measure --part streaming"),
    Part("Data pipeline", "measure --part harary"),
    Part("Data pipeline", "measure --part sampling"),
    Part("Data pipeline", "measure --part cost"),
    Part("Data pipeline", "measure --part history"),
    Part("Data pipeline", "cluster"),
    Part("Data pipeline", "restarts --kills 5"),
    Part("Content routes", "routes --data DATA --quick --part quality --part steiner --part scale"),
    Part("Content routes", "flows"),
    Part(
        "Healing",
        "heal --rounds 7",
        "On one machine. The crash is that of a process: its neighbours' connections are refused at once. A "
        "machine that falls silent is noticed only when ZooKeeper's session has ended, after ten seconds.",
    ),
    Part("Healing", "heal --part soak --seconds 120"),
    Part("The loop and its page", "loop --idle 30"),
    Part("The loop and its page", "loop --part large"),
    Part("The loop and its page", "forecast"),
    Part("The loop and its page", "dashboard"),
    Part("The loop and its page", "product_soak --seconds 600"),
)

LONGER = """## Longer runs

These take hours and are not part of the run above: `scripts/bench plan` (ten minutes for each plan of the
slow planners), `scripts/bench design --data DATA` (the sweeps of kTCO and all interest data),
`scripts/bench routes --part figures` (the figures of Content routes), `scripts/bench soak --seeds 5000` with
each of its options, `scripts/bench product_soak` (an hour), `regraft lab` (the papers' experiments).
"""


def main() -> int:
    options = arguments().parse_args()
    log = Console(stderr=True, highlight=False).log
    commit = _git("describe", "--always", "--dirty")
    folder = KEPT / commit
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [part for part in PARTS if not options.only or part.command.split()[0] in options.only]
    for part in chosen:
        kept = folder / _name(part)
        if kept.exists():
            continue
        log(part.command)
        started = time.monotonic()
        kept.write_text(_measured(part.command.replace(DATA, str(options.data)).split()))
        log(f"{part.command}: {time.monotonic() - started:.0f} s")
    there = [part for part in PARTS if (folder / _name(part)).exists()]
    PAGE.write_text(page(there, folder, commit))
    log(f"{PAGE}: {len(there)} of {len(PARTS)} parts")
    return 0 if len(there) == len(PARTS) else 1


def page(parts: list[Part], folder: Path, commit: str) -> str:
    today = datetime.now(UTC).date().isoformat()
    text = [
        "# Results\n",
        f"One run of `scripts/bench results` at commit `{commit}`, {today}; {machine()}. Ratios are "
        "measured in the same run. `-` in the last column: nothing was promised. `DATA` is a folder with the "
        "networks and events of others.\n",
    ]
    section = ""
    for part in parts:
        if part.section != section:
            section = part.section
            text.append(f"## {section}\n")
        text.append(f"`scripts/bench {part.command}`\n")
        if part.about:
            text.append(part.about + "\n")
        text.append((folder / _name(part)).read_text())
    return "\n".join([*text, LONGER])


def _measured(arguments: list[str]) -> str:
    """The table that the benchmark printed. A promise that is not kept is a row of it, not an error."""
    module, *rest = arguments
    command = [sys.executable, "-m", f"benchmarks.{module}", *rest]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    rows = [line for line in done.stdout.splitlines() if line.startswith("|")]
    if not rows:
        return f"No table: exit code {done.returncode}.\n"
    return "\n".join(rows) + "\n"


def _name(part: Part) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in part.command) + ".md"


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench results", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="the networks of others")
    parser.add_argument("--only", action="append", metavar="NAME", help="this benchmark; may be repeated")
    return parser


if __name__ == "__main__":
    sys.exit(main())
