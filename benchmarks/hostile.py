"""Peers that break rules: what a steady conversation through the same broker notices of them.

One publisher with 1,000 messages/s and one subscriber, under each attack, and undisturbed before and after
it, a new broker every time: what else the machine does is then much the same in both. Rounds are repeated
and medians taken. Prints one table (Markdown): the p99 of the
conversation and the broker's peak memory against those without an attack, and why peers were cut off or
refused (what they were told, and what the broker's log says). Attacks are repeated as fast as they go unless
`--pace` limits them. The attacker shares the machine with the broker: the control, a process that is as busy
and leaves the broker alone, shows how much of a delay is due to that. Exit code 1 if a promise is broken.
"""

import argparse
import json
import math
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks._hostile_attacks import ATTACKS, CONTROL, Attack, Report
from benchmarks._hostile_broker import attacked
from benchmarks._load import Load
from benchmarks._load_run import run
from benchmarks._peers import PeerFailed
from benchmarks._table import Line, show
from rich.console import Console

RATE = 1000.0
TIMES = 2.0
MIB = 2**20
GROWTH = 64 * MIB
WANTED = f"p99 <= {TIMES:g} times, nothing lost, <= {GROWTH // MIB} MiB more"
console = Console(stderr=True, highlight=False)


class Trial(NamedTuple):
    """`broken` says what ended the conversation before its time, if anything did; `flaws` counts messages
    that were lost, repeated or late."""

    p99_us: float
    flaws: int
    peak: int
    strikes: int = 0
    told: Counter[str] = Counter()  # noqa: RUF012 — read only
    closed: Counter[str] = Counter()  # noqa: RUF012 — read only
    broken: str = ""
    calm_us: float = 0.0
    """The p99 without an attack, right before and after; 0: not measured."""


def main() -> None:
    options = arguments().parse_args()
    # Ended from outside, we still stop what we started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    rounds, seconds = (1, 2.0) if options.quick else (options.rounds, options.seconds)
    names = options.attack or list(ATTACKS)
    load = Load(int(RATE * seconds), rate=RATE)
    peaceful: list[Trial] = []
    hostile: dict[str, list[Trial]] = {name: [] for name in names}
    for number in range(1, rounds + 1):
        peaceful.append(trial(load))
        for name in names:
            console.log(f"round {number}: {ATTACKS[name].what}")
            attack = trial(load, name, options.pace)
            peaceful.append(trial(load))
            calm = (peaceful[-2].p99_us + peaceful[-1].p99_us) / 2
            hostile[name].append(attack._replace(calm_us=calm))
    about = f"{RATE:g} messages/s for {seconds:g} s, median of {rounds}"
    about += f", at most {options.pace:g} strikes/s" if options.pace else ""
    shown = show(lines(peaceful, hostile), about, options.out)
    sys.exit(0 if all(line.met is not False for line in shown) else 1)


def trial(load: Load, attack: str = "", pace: float = 0.0) -> Trial:
    """One conversation through a new broker, from before to after it under attack."""
    with attacked() as target:
        attacker = _attacker(attack, target.port, pace) if attack else None
        try:
            received, broken = run(target, load).received, ""
        except PeerFailed:
            received, broken = None, "the conversation was cut off"
        finally:
            report = _ended(attacker) if attacker else Report(0, {})
        if not target.alive:
            broken = f"the broker ended: {target.log.read_text(errors='replace')[-300:]}"
        told = Counter(report.said)
        p99, flaws = math.inf, load.count
        if received is not None:
            p99, flaws = received.p99_us, received.lost + received.repeated + received.late
        return Trial(p99, flaws, target.peak, report.strikes, told, target.reasons(), broken)


def lines(peaceful: Sequence[Trial], hostile: dict[str, list[Trial]]) -> Iterator[Line]:
    p99 = median(each.p99_us for each in peaceful)
    peak = median(each.peak for each in peaceful)
    shown = f"p99 {p99 / 1e3:.2f} ms, peak {peak / MIB:,.0f} MiB"
    flaws = sum(each.flaws for each in peaceful)
    yield Line("no attack", "nothing lost", shown, not flaws, {"trials": [e._asdict() for e in peaceful]})
    for name, trials in hostile.items():
        line = judged(ATTACKS[name], trials, p99, peak)
        yield line._replace(wanted="-", met=None) if name == CONTROL else line


def judged(attack: Attack, trials: Sequence[Trial], p99_us: float, peak: float) -> Line:
    """The promise, and that who must be cut off was, with a reason."""
    p99 = median(each.p99_us for each in trials)
    growth = max(0.0, median(each.peak for each in trials) - peak)
    flaws, strikes = sum(each.flaws for each in trials), sum(each.strikes for each in trials)
    reasons = sum((each.closed | each.told for each in trials), Counter[str]())
    broken = next((each.broken for each in trials if each.broken), "")
    times = median(each.p99_us / (each.calm_us or p99_us) for each in trials)
    met = times <= TIMES and not flaws and growth <= GROWTH and not broken
    met = met and (bool(reasons) or not attack.cut_off)
    parts = [f"p99 {p99 / 1e3:.2f} ms, {times:.2f} times; {growth / MIB:.0f} MiB more"]
    parts += [f"**{flaws:,} lost, repeated or late**"] if flaws else []
    parts += [f"**{broken}**"] if broken else []
    cut_off = attack.cut_off or broken
    parts += [f"{strikes:,} strikes", _most("cut off" if cut_off else "refused", reasons)]
    shown = "; ".join(part for part in parts if part).replace("|", "/").replace("\n", " ")
    return Line(attack.what, WANTED, shown, met, {"trials": [each._asdict() for each in trials]})


def _most(what: str, reasons: Counter[str], kinds: int = 2) -> str:
    """The most frequent reasons with their counts; empty if there are none."""
    return ", ".join(f"{what} {count:,} times: “{reason}”" for reason, count in reasons.most_common(kinds))


def _attacker(name: str, port: int, pace: float) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks._hostile_attacks", name, str(port), str(pace)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent,
        start_new_session=True,
    )
    assert process.stdout
    if process.stdout.readline() != "ready\n":
        sys.exit(f"bench: the attack {name!r} failed; what it said is above")
    return process


def _ended(attacker: "subprocess.Popen[str]") -> Report:
    try:
        out, _ = attacker.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        attacker.kill()
        attacker.communicate()
        return Report(0, {"the attacker did not end": 1})
    return Report(**json.loads(out)) if out else Report(0, {"the attacker failed": 1})


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench hostile", description=__doc__)
    parser.add_argument(
        "--attack", action="append", choices=list(ATTACKS), help="only this one; may be repeated"
    )
    parser.add_argument("--rounds", type=int, default=5, help="of which the medians are taken (default 5)")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each conversation (default 4)")
    parser.add_argument(
        "--pace", type=float, default=0.0, help="strikes per second at most (default 0: without a pause)"
    )
    parser.add_argument("--quick", action="store_true", help="one round of 2 s")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write everything measured as JSON")
    return parser


if __name__ == "__main__":
    main()
