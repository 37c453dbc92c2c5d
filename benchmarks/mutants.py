"""Mistakes planted at random in the pure cores: how many of them do the tests find?

    scripts/bench mutants                          20 of each core: broker, deploy, loop, heal
    scripts/bench mutants --core heal --count 100 --seed 7

Each mutant is a copy of the sources with one mistake (`_mutants_make`). The tests of its core run until one
fails; a run that takes more than three times as long as it should has found it too. Those that live are
listed. A mutant that behaves as the original does is none: `mutants_equivalent.json` names those that
somebody has looked at, with the reason.
"""

import argparse
import difflib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from benchmarks._mutants_make import Place, mutant, places
from benchmarks._table import Line, show
from rich.console import Console
from rich.progress import Progress

WANTED = 0.95
EQUIVALENT = Path("benchmarks/mutants_equivalent.json")
SLACK_SECONDS = 60.0
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
            "tests/heal/test_detection.py",
            "tests/heal/test_election.py",
            "tests/heal/test_reaction.py",
            "tests/heal/test_healing.py",
        ),
    ),
}
"""Of each core: its files, and the tests that know it, the quick ones first."""


class Mutant(NamedTuple):
    file: str
    number: int
    place: Place

    def __str__(self) -> str:
        return f"{self.file}:{self.place.line}: {self.place.before} → {self.place.after}"

    @property
    def key(self) -> list[str]:
        """How it is named in `EQUIVALENT`: by the text of its line, because numbers of lines change."""
        text = (Path("src/regraft") / self.file).read_text().splitlines()[self.place.line - 1]
        return [self.file, text.strip(), self.place.after]


class Workshop:
    """A copy of the sources in which one mistake at a time is made and tested."""

    def __init__(self, folder: Path) -> None:
        self._sources = folder / "src"
        # With what was compiled before: only the file with the mistake is compiled anew.
        shutil.copytree("src", self._sources)

    def test(self, tests: list[str], seconds: float) -> bool:
        """Whether all of them pass in time."""
        path = os.pathsep.join([str(self._sources), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
        # A planted bug that is not found any more says nothing about the mistake.
        process = subprocess.Popen(
            [*command, "-k", "not planted and not bug", *tests],
            env=os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return False

    def lives(self, one: Mutant, tests: list[str], seconds: float) -> bool:
        file = self._sources / "regraft" / one.file
        source, times = file.read_text(), file.stat()
        compiled = [
            (path, path.read_bytes()) for path in file.parent.glob(f"__pycache__/{file.stem}.cpython-*.pyc")
        ]
        try:
            for path, _ in compiled:
                path.unlink()
            file.write_text(mutant(source, one.number))
            return self.test(tests, seconds)
        finally:
            file.write_text(source)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
            for path, content in compiled:
                path.write_bytes(content)


def chosen(core: str, count: int, chance: random.Random) -> list[Mutant]:
    """Mutants of the core, each as likely as any other."""
    root = Path("src/regraft")
    found = []
    for name in CORES[core][0]:
        files = sorted((root / name).rglob("*.py")) if (root / name).is_dir() else [root / name]
        for file in files:
            where = str(file.relative_to(root))
            found += [Mutant(where, n, place) for n, place in enumerate(places(file.read_text()))]
    return chance.sample(found, min(count, len(found)))


def ordered(one: Mutant, tests: tuple[str, ...]) -> list[str]:
    """First the tests that are named after the file with the mistake."""
    stem = Path(one.file).stem
    own = [str(path) for place in tests for path in sorted(Path(place).glob(f"test_{stem}*.py"))]
    return [*own, *tests]


def judged(core: str, options: argparse.Namespace) -> Iterator[Line]:
    tests = CORES[core][1]
    mutants = chosen(core, options.count, random.Random(f"{core} {options.seed}"))
    known = [entry["mutant"] for entry in json.loads(EQUIVALENT.read_text())]
    free: SimpleQueue[Workshop] = SimpleQueue()
    with (
        tempfile.TemporaryDirectory(prefix="regraft-mutants-") as folder,
        Progress(console=Console(stderr=True), transient=True) as progress,
        ThreadPoolExecutor(options.workers) as pool,
    ):
        for number in range(options.workers):
            free.put(Workshop(Path(folder) / str(number)))
        began = time.monotonic()
        workshop = free.get()
        if not workshop.test(list(tests), 3600.0):
            raise SystemExit(f"{core}: the tests fail without any mistake")
        free.put(workshop)
        seconds = 3 * (time.monotonic() - began) + SLACK_SECONDS
        task = progress.add_task(core, total=len(mutants))

        def lives(one: Mutant) -> bool:
            workshop = free.get()
            try:
                lived = workshop.lives(one, ordered(one, tests), seconds)
                if lived and one.key not in known:
                    progress.console.print(_difference(one), markup=False, highlight=False)
                return lived
            finally:
                free.put(workshop)
                progress.advance(task)

        living = [one for one, lived in zip(mutants, pool.map(lives, mutants), strict=True) if lived]
    equal = [one for one in living if one.key in known]
    living = [one for one in living if one.key not in known]
    real = len(mutants) - len(equal)
    share = 1 - len(living) / real if real else 1.0
    yield Line(
        f"{core}: mistakes found",
        f">= {WANTED:.0%}",
        f"{share:.1%} ({real - len(living)} of {real}; {len(equal)} more change nothing)",
        share >= WANTED,
        {"living": [str(one) for one in living]},
    )


def _difference(one: Mutant) -> str:
    source = (Path("src/regraft") / one.file).read_text()
    # Unparsed on both sides, so that only the mistake differs.
    before, after = mutant(source, -1).splitlines(), mutant(source, one.number).splitlines()
    lines = difflib.unified_diff(before, after, lineterm="", n=2)
    return "\n".join([f"lives: {one}", *list(lines)[2:]])


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench mutants", description=__doc__)
    parser.add_argument("--core", action="append", choices=list(CORES), help="may be repeated; default: all")
    parser.add_argument("--count", type=int, default=20, help="mutants of each core")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    return parser


def main() -> int:
    options = arguments().parse_args()
    lines = (line for core in options.core or CORES for line in judged(core, options))
    shown = show(lines, f"seed {options.seed}, {options.count} of each core", options.out)
    return 0 if all(line.met for line in shown) else 1


if __name__ == "__main__":
    sys.exit(main())
