"""Mistakes planted at random in the pure cores: how many of them do the tests find?

    scripts/bench mutants                          20 of each core: broker, deploy, loop, heal
    scripts/bench mutants --core heal --count 100 --seed 7

Each mutant is the code with one mistake (`_mutants_make`). The tests of its core that call the function with
the mistake run until one fails (`_mutants_run`); one that works three times as long as it should has found it
too. Those that live are listed. A mutant that behaves as the original does is none: `mutants_equivalent.json`
names those that somebody has looked at, with the reason.
"""

import argparse
import ast
import difflib
import json
import random
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from benchmarks._mutants_make import Place, mutant, places
from benchmarks._mutants_run import OPTIONS, Warm, lived
from benchmarks._table import Line, show
from rich.console import Console
from rich.progress import track

import regraft

WANTED = 0.95
EQUIVALENT = Path("benchmarks/mutants_equivalent.json")
SOURCES = Path(regraft.__file__).parent
CORES = {
    "broker": (
        ("broker/core",),
        ("tests/broker/core", "tests/broker/test_simulation.py", "tests/deploy/test_transformation.py"),
    ),
    "deploy": (
        ("deploy/agent_core.py", "deploy/deployer_core.py", "deploy/states.py"),
        (
            "tests/deploy/test_agent_core.py",
            "tests/deploy/test_deployer_core.py",
            "tests/deploy/test_states.py",
            "tests/deploy/test_transformation.py",
        ),
    ),
    "loop": (("loop",), ("tests/loop",)),
    "heal": (
        ("heal/core", "heal/detection.py", "heal/election", "heal/grant.py", "heal/reaction.py"),
        (
            "tests/heal/core",
            "tests/heal/test_ballot.py",
            "tests/heal/test_detection.py",
            "tests/heal/test_detector_times.py",
            "tests/heal/test_election.py",
            "tests/heal/test_reaction.py",
            "tests/heal/test_healing.py",
        ),
    ),
}
"""Of each core: its files, and the tests that know it."""


class Mutant(NamedTuple):
    file: str
    number: int
    place: Place

    def __str__(self) -> str:
        return f"{self.file}:{self.place.line}: {self.place.before} → {self.place.after}"

    @property
    def key(self) -> list[str]:
        """How it is named in `EQUIVALENT`: by the text of its line, because numbers of lines change."""
        text = self.path.read_text().splitlines()[self.place.line - 1]
        return [self.file, text.strip(), self.place.after]

    @property
    def path(self) -> Path:
        return SOURCES / self.file

    @property
    def tree(self) -> ast.Module:
        return mutant(self.path.read_text(), self.number)


def chosen(core: str, count: int, chance: random.Random) -> list[Mutant]:
    """Mutants of the core, each as likely as any other."""
    found = []
    for name in CORES[core][0]:
        files = sorted((SOURCES / name).rglob("*.py")) if (SOURCES / name).is_dir() else [SOURCES / name]
        for file in files:
            where = str(file.relative_to(SOURCES))
            found += [Mutant(where, n, place) for n, place in enumerate(places(file.read_text()))]
    return chance.sample(found, min(count, len(found)))


def tried(
    mutants: list[Mutant], tests: tuple[str, ...], warm: Warm, workers: int
) -> Iterator[tuple[Mutant, bool]]:
    """Each of them, and whether it lives."""
    waiting, running = deque(mutants), deque[tuple[Mutant, int]]()
    while waiting or running:
        while waiting and len(running) < workers:
            one = waiting.popleft()
            running.append((one, warm.begin(one.path, one.tree, tests)))
        one, process = running.popleft()
        yield one, lived(process)


def judged(core: str, options: argparse.Namespace, warm: Warm) -> Line:
    mutants = chosen(core, options.count, random.Random(f"{core} {options.seed}"))
    known = [entry["mutant"] for entry in json.loads(EQUIVALENT.read_text())]
    living = []
    console = Console(stderr=True)
    trials = tried(mutants, CORES[core][1], warm, options.workers)
    # Without a thread that refreshes the line: forks would take its locks along.
    for one, lives in track(trials, core, len(mutants), auto_refresh=False, console=console, transient=True):
        if lives:
            living.append(one)
            if one.key not in known:
                console.print(_difference(one), markup=False, highlight=False, soft_wrap=True)
    equal = [one for one in living if one.key in known]
    living = [one for one in living if one.key not in known]
    real = len(mutants) - len(equal)
    share = 1 - len(living) / real if real else 1.0
    return Line(
        f"{core}: mistakes found",
        f">= {WANTED:.0%}",
        f"{share:.1%} ({real - len(living)} of {real}; {len(equal)} more change nothing)",
        share >= WANTED,
        {"living": [str(one) for one in living]},
    )


def _difference(one: Mutant) -> str:
    # Unparsed on both sides, so that only the mistake differs.
    before, after = (ast.unparse(tree).splitlines() for tree in (ast.parse(one.path.read_text()), one.tree))
    lines = difflib.unified_diff(before, after, lineterm="", n=2)
    return "\n".join([f"lives: {one}", *list(lines)[2:]])


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench mutants", description=__doc__)
    parser.add_argument("--core", action="append", choices=list(CORES), help="may be repeated; default: all")
    parser.add_argument("--count", type=int, default=20, help="mutants of each core")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="mutants tried at once")
    parser.add_argument("--out", type=Path)
    return parser


def main() -> int:
    options = arguments().parse_args()
    cores = options.core or list(CORES)
    shown: list[Line] = []

    def work(warm: Warm) -> None:
        warm.measure()
        lines = (judged(core, options, warm) for core in cores)
        shown.extend(show(lines, f"seed {options.seed}, {options.count} of each core", options.out))

    tests = dict.fromkeys(test for core in cores for test in CORES[core][1])
    # A planted bug that is not found any more says nothing about the mistake.
    pytest.main([*OPTIONS, "-k", "not planted and not bug", *tests], [Warm(work)])
    return 0 if shown and all(line.met for line in shown) else 1


if __name__ == "__main__":
    sys.exit(main())
