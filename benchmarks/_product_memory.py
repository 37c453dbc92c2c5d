"""Memory and disk of the whole product over time, by kind of process, and whether they grow.

A sample is one line of a file, so that measuring does not grow what it measures. Processes die and are
started anew meanwhile: growth is fitted within each life, after its warm-up, by the median of all slopes
between two samples (Theil-Sen), which single peaks do not move. `flat` compares that with a bound. Levels are
of the share that is a process's own (PSS); growth is of all that it has touched (RSS), because its share also
grows when another process that shares with it ends.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

MIB = 2**20
HOUR = 3600.0
WARM_SECONDS = 300.0
"""Of a life: code is loaded, caches and heaps reach their size."""
LEAST_SECONDS = 300.0
"""After the warm-up: of shorter lives nothing is said."""
MOST_SHARE = 0.05
"""Growth per hour that still counts as flat, of the level; or, if that is more: """
MOST_BYTES = MIB
"""of one process."""
JUDGED = ("nodes", "loop", "databases")
"""Kinds whose memory has to stay flat."""
CEILINGS = {"zookeeper": 256 * MIB, "java": 1792 * MIB}
"""Java fills its heap before it collects, so that a life of minutes only grows: these have to stay below the
limits of their heaps (128 MiB and 1 GiB) and what code and buffers need beside them."""


class Sample(NamedTuple):
    """`used`: bytes of a process that are its own, and its share of what is shared (PSS)."""

    at: float
    kind: str
    name: str
    pid: int
    used: int
    resident: int


class Growth(NamedTuple):
    """Of one kind. Bytes; `slope` per hour, of one process: the median of its lives; None: too short."""

    kind: str
    processes: int
    level: float
    highest: float
    lives: int
    slope: float | None
    total_slope: float | None
    """Of all processes of the kind together, over the whole run."""

    @property
    def bound(self) -> float:
        return max(MOST_SHARE * self.level, MOST_BYTES)

    @property
    def flat(self) -> bool | None:
        """None: not judged, or too short."""
        if self.kind in CEILINGS:
            return self.highest <= CEILINGS[self.kind]
        if self.kind not in JUDGED or self.slope is None:
            return None
        return self.slope <= self.bound


def take(processes: Mapping[int, tuple[str, str]], at: float, out: Path) -> dict[str, int]:
    """One line for each process (by id: kind and name); bytes of each kind."""
    totals: defaultdict[str, int] = defaultdict(int)
    with out.open("a", encoding="utf-8") as file:
        for pid, (kind, name) in processes.items():
            if (found := memory(pid)) is not None:
                file.write(json.dumps(Sample(at, kind, name, pid, *found)) + "\n")
                totals[kind] += found[0]
    return dict(totals)


def memory(pid: int) -> tuple[int, int] | None:
    """(PSS, RSS) in bytes."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # it has ended
        return None
    found = dict(line.split(":", 1) for line in text.splitlines()[1:])
    if "Pss" not in found:
        return None
    return int(found["Pss"].split()[0]) * 1024, int(found["Rss"].split()[0]) * 1024


def descendants(pid: int) -> Iterator[int]:
    """Processes that it has started, and theirs."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                state, parent, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if state != "Z":  # it has ended, and nobody has asked how
                children[int(parent)].append(int(entry.name))
    waiting = list(children[pid])
    while waiting:
        yield (each := waiting.pop())
        waiting += children[each]


def is_java(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == "java"
    except OSError:
        return False


def folder_bytes(folder: Path) -> int:
    """On the disk; files come and go meanwhile."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue
    return total


def read(path: Path) -> list[Sample]:
    return [Sample(*json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def growths(samples: Sequence[Sample]) -> list[Growth]:
    kinds = sorted({each.kind for each in samples})
    return [growth(kind, [each for each in samples if each.kind == kind]) for kind in kinds]


def growth(kind: str, samples: Sequence[Sample]) -> Growth:
    lives: defaultdict[int, list[Sample]] = defaultdict(list)
    at_once: defaultdict[float, list[int]] = defaultdict(list)
    touched: defaultdict[float, int] = defaultdict(int)
    for each in samples:
        lives[each.pid].append(each)
        at_once[each.at].append(each.used)
        touched[each.at] += each.resident
    slopes = [slope for life in lives.values() if (slope := _of_life(life)) is not None]
    begun = min(touched) + WARM_SECONDS
    late = [(at, resident) for at, resident in sorted(touched.items()) if at >= begun]
    long_enough = bool(late) and late[-1][0] - late[0][0] >= LEAST_SECONDS
    return Growth(
        kind,
        round(median(len(used) for used in at_once.values())),
        median(each.used for each in samples),
        max(map(sum, at_once.values())),
        len(slopes),
        median(slopes) if slopes else None,
        theil_sen(late) if long_enough else None,
    )


def _of_life(life: Sequence[Sample]) -> float | None:
    begun = life[0].at + WARM_SECONDS
    points = [(each.at, each.resident) for each in life if each.at >= begun]
    return theil_sen(points) if points and points[-1][0] - points[0][0] >= LEAST_SECONDS else None


def theil_sen(points: Iterable[tuple[float, float]]) -> float:
    """Per hour."""
    pairs = combinations(sorted(points), 2)
    return HOUR * median((late - early) / (then - at) for (at, early), (then, late) in pairs if then > at)


def as_json(found: Growth) -> dict[str, Any]:
    return {**found._asdict(), "bound": found.bound, "flat": found.flat}
