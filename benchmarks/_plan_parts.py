"""The parts of the planning benchmark: each measures one promise and says by how much it is kept."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks._downward import CONFIGURATIONS, fast_downward
from benchmarks._table import Line

from regraft.lab.records import Records
from regraft.lab.trial import Measurement, Trial, measure
from regraft.lab.workload import SHAPES, Shape
from regraft.model.limits import Minimise

CHANGE = 20
THREE = (SHAPES[0], SHAPES[6], SHAPES[9])
"""One of each maximum degree, balanced and not, both seeds."""
IMPROVE = 2.0
PROBED = (
    20,
    40,
    60,
    80,
    100,
    150,
    200,
    300,
    400,
    600,
    800,
    1_000,
    1_500,
    2_000,
    2_500,
    3_000,
    4_000,
    6_000,
    10_000,
)
"""Sizes tried, in this order, to find the largest that a rival solves."""


@dataclass
class Bench:
    """What all parts share: how much to run, and what has been measured (and perhaps kept) so far."""

    quick: bool
    time_limit: float
    say: Callable[[str], None]
    kept: Records[Trial, Measurement] | None = None
    rows: dict[Trial, Measurement] = field(default_factory=dict)

    @property
    def shapes(self) -> Sequence[Shape]:
        return THREE if self.quick else SHAPES

    def run(self, trial: Trial) -> Measurement:
        known = self.kept.rows if self.kept else self.rows
        if trial not in known:
            row = fast_downward(trial) if trial.planner in CONFIGURATIONS else measure(trial)
            self.say(f"{trial.planner}, {trial.size} brokers, {trial.topology}: {_shown(row)}")
            if self.kept:
                self.kept.add(trial, row)
            self.rows[trial] = row
            return row
        return known[trial]

    def first(self, size: int, shape: Shape) -> Measurement:
        return self.run(Trial("fast", size, CHANGE, str(shape), 0.0))


def first(bench: Bench) -> Iterator[Line]:
    """The default planner's time to its first valid plan."""
    for size, wanted in ((150, 0.020), (1_000, 0.2), (10_000, 2.0), (100_000, 60.0)):
        rows = [bench.first(size, shape) for shape in bench.shapes]
        times = [row.seconds for row in rows if row.status == "found" and row.seconds is not None]
        yield _timed(f"first plan, {size:,} brokers", wanted, times, len(rows))


def memory(bench: Bench) -> Iterator[Line]:
    """The most memory that any topology of 100,000 brokers takes."""
    rows = [bench.first(100_000, shape) for shape in bench.shapes]
    peaks = [row.peak_mb for row in rows if row.peak_mb is not None]
    worst = max(peaks) * 1e6 / 2**30
    yield Line(
        "peak memory, 100,000 brokers",
        "<= 4 GiB",
        f"{worst:.2f} GiB",
        worst <= 4 and all(row.status == "found" for row in rows),
        {"peak_mb": peaks},
    )


def quality(bench: Bench) -> Iterator[Line]:
    """The fast planner after two seconds against the best that the exact planner finds in ten minutes."""
    aims: tuple[Minimise, ...] = ("steps", "actions")
    for aim in aims:
        excess: list[float] = []
        data: list[dict[str, Any]] = []
        for shape in THREE:
            fast = bench.run(Trial("fast", 150, CHANGE, str(shape), IMPROVE, aim))
            exact = bench.run(Trial("exact", 150, CHANGE, str(shape), bench.time_limit, aim))
            ours, best = getattr(fast, aim), getattr(exact, aim)
            data.append({"topology": str(shape), "fast": fast._asdict(), "exact": exact._asdict()})
            if ours is not None and best is not None:
                excess.append(100 * (ours / best - 1))
        shown = (
            f"{max(excess):+.1f} % at worst, {len(excess)} of {len(THREE)}"
            if excess
            else "no plan to compare"
        )
        met = max(excess) <= 5 and len(excess) == len(THREE) if excess else None
        what = f"{aim} after {IMPROVE:g} s at 150 brokers, against exact in {bench.time_limit:g} s"
        yield Line(what, "<= +5 %", shown, met, {"instances": data})


def exact(bench: Bench) -> Iterator[Line]:
    """Seconds until the optimum is proven."""
    for planner, size in (("exact-each-path", 60), ("exact", 30)):
        rows = [bench.run(Trial(planner, size, CHANGE, str(shape), 60.0)) for shape in bench.shapes]
        times = [row.seconds for row in rows if row.proven and row.seconds is not None]
        yield _timed(f"{planner} proves its optimum, {size} brokers", 10.0, times, len(rows))


def seed(bench: Bench) -> Iterator[Line]:
    """The seed's program against the exact planner: the same solver, actions and instances."""
    ratios, unsolved, data = [], 0, []
    for shape in bench.shapes:
        ours = bench.run(Trial("exact-each-path", 60, CHANGE, str(shape), 60.0))
        theirs = bench.run(Trial(SEED_PROGRAM, 60, CHANGE, str(shape), bench.time_limit))
        data.append({"topology": str(shape), "exact": ours._asdict(), "seed": theirs._asdict()})
        if ours.proven and ours.seconds and theirs.status in ("found", "none found", "out of time"):
            # A program stopped by its limit would have needed at least that long.
            ratios.append((theirs.seconds or bench.time_limit) / ours.seconds)
            unsolved += not theirs.proven
    yield _ratio(
        "seed's program / exact, each-path, CP-SAT, 60 brokers", 20, ratios, unsolved, {"instances": data}
    )


def best_first(bench: Bench) -> Iterator[Line]:
    """The best-first search at the largest size that it still solves, against the fast planner."""
    shapes = THREE[:1] if bench.quick else THREE
    largest: dict[Trial, Measurement] = {}
    for size in PROBED:
        trial = Trial("best-first", size, CHANGE, "", bench.time_limit, only_first=True)
        trials = [trial._replace(topology=str(shape)) for shape in shapes]
        solved = {trial: row for trial in trials if (row := bench.run(trial)).status == "found"}
        if not solved:
            break
        largest = solved
    if largest:
        yield from _against(bench, "best-first search", largest)


def downward(bench: Bench) -> Iterator[Line]:
    """Fast Downward at the largest size that it still solves, against the fast planner."""
    hopeful = list(CONFIGURATIONS)
    largest: dict[Trial, Measurement] = {}
    for size in range(20, 1001, 20):
        trials = [Trial(name, size, CHANGE, str(THREE[0]), bench.time_limit) for name in hopeful]
        solved = {trial: row for trial in trials if (row := bench.run(trial)).status == "found"}
        if not solved:
            break
        largest, hopeful = solved, [trial.planner for trial in solved]
    if largest:
        fastest = min(largest, key=lambda trial: largest[trial].seconds or 0.0)
        yield from _against(bench, fastest.planner, {fastest: largest[fastest]})
        yield _against_packed(bench, largest)


SEED_PROGRAM = "ip-each-path-cp-sat"
PARTS: dict[str, Callable[[Bench], Iterator[Line]]] = {
    "first": first,
    "memory": memory,
    "exact": exact,
    "seed": seed,
    "downward": downward,
    "best-first": best_first,
    "quality": quality,
}


def _against(bench: Bench, rival: str, rows: Mapping[Trial, Measurement]) -> Iterator[Line]:
    """How many times faster the fast planner has a plan of at most as many steps.

    The rivals write one action after another: they have as many steps as actions.
    """
    ratios, more, data = [], 0, []
    for trial, row in rows.items():
        steps = row.actions or 0
        ours = bench.run(Trial("fast", trial.size, CHANGE, trial.topology, 0.0))
        if ours.steps is None or ours.steps > steps:
            ours = bench.run(Trial("fast", trial.size, CHANGE, trial.topology, IMPROVE))
        more += ours.steps is None or ours.steps > steps
        data.append({"rival": [trial, row._asdict()], "fast": ours._asdict()})
        if ours.best_seconds and row.best_seconds:
            ratios.append(row.best_seconds / ours.best_seconds)
    at = f"{next(iter(rows)).size} brokers"
    yield _ratio(f"{rival} / fast, {at}", 1000, ratios, 0, {"instances": data})
    yield Line(f"more steps than {rival}, {at}", "never", f"{more} of {len(rows)}", not more, {})


def _against_packed(bench: Bench, rows: Mapping[Trial, Measurement]) -> Line:
    """The same question, harder: the rivals' actions packed into parallel steps, the best of them."""
    trial, best = min(rows.items(), key=lambda item: item[1].steps or 0)
    ours = bench.run(Trial("fast", trial.size, CHANGE, trial.topology, IMPROVE))
    shown = f"{ours.steps} against {best.steps} ({trial.planner})"
    met = ours.steps is not None and best.steps is not None and ours.steps <= best.steps
    what = f"steps after {IMPROVE:g} s against its best plan packed into parallel steps, {trial.size} brokers"
    return Line(what, "never more", shown, met, {"rivals": [[*row] for row in rows.items()]})


def _timed(what: str, wanted: float, times: list[float], of: int) -> Line:
    shown = f"{median(times):.3g} s (at worst {max(times):.3g} s)" if times else "none"
    if len(times) < of:
        shown += f", {len(times)} of {of}"
    return Line(
        what,
        f"<= {wanted:g} s",
        shown,
        len(times) == of and median(times) <= wanted,
        {"seconds": times, "topologies": of},
    )


def _ratio(what: str, wanted: float, ratios: list[float], unsolved: int, data: dict[str, Any]) -> Line:
    if not ratios:
        return Line(what, f">= {wanted:g} times", "nothing to compare", None, data)
    at_least = ">= " if unsolved else ""
    shown = f"{at_least}{median(ratios):,.0f} times (least {min(ratios):,.0f})"
    if unsolved:
        shown += f"; the other ran out of time on {unsolved} of {len(ratios)}"
    return Line(what, f">= {wanted:g} times", shown, median(ratios) >= wanted, {"ratios": ratios, **data})


def _shown(row: Measurement) -> str:
    if row.status != "found" or row.seconds is None:
        return row.status + (f" ({row.reason})" if row.reason else "")
    return f"{row.steps} steps, {row.actions} actions, {row.seconds:.3g} s, {row.peak_mb or 0:.0f} MB"
