"""200 brokers and a hot spot that moves: the same two minutes without the loop's changes and with them.

Both runs have the same seed and the same processes: in the first the loop observes (it measures, judges and
designs, and changes nothing), in the second it is automatic. Everything of the two minutes counts, also what
passed before the loop had noticed and while links were changed.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks._loop_large_run import Seen, run
from benchmarks._loop_large_work import Size, deliveries_due, expected_cost
from benchmarks._overlay_work import Verdict, judged
from benchmarks._table import Line

WANTED_SAVING = 0.25
MODES = ("observe", "automatic")


class Judged(NamedTuple):
    seen: Seen
    verdict: Verdict
    p50: float
    p99: float
    worst: float


def sized(quick: bool, seed: int) -> Size:
    return Size(40, 200, 40.0, 20.0, 5, seed) if quick else Size(seed=seed)


def lines(size: Size, keep: Path | None) -> Iterator[Line]:
    with tempfile.TemporaryDirectory(prefix="regraft-bench-loop-") as name:
        folder = keep.absolute() if keep else Path(name)
        without, with_loop = (judge(size, run(size, mode, folder / mode)) for mode in MODES)
        if keep:
            for each in (without, with_loop):
                told = {"began": each.seen.began, **details(each)}
                (folder / f"{each.seen.mode}.json").write_text(json.dumps(told, indent=1))
    yield from compared(size, without, with_loop)


def judge(size: Size, seen: Seen) -> Judged:
    sent = size.publications()
    streams = np.array([size.stream(each) for each in sent], np.int64)
    verdict = judged(deliveries_due(size, sent), seen.arrivals, streams)
    late = seen.arrivals.seconds if len(seen.arrivals.seconds) else np.array([np.nan])
    return Judged(seen, verdict, *(np.percentile(late, (50, 99, 100)) * 1e3).tolist())


def compared(size: Size, without: Judged, with_loop: Judged) -> Iterator[Line]:
    what = f"{size.brokers} brokers, {size.subscribers:,} subscribers, {size.seconds:g} s"
    costs = [each.seen.spent.cost for each in (without, with_loop)]
    saved = 1 - costs[1] / costs[0]
    yield Line(
        f"{what}, a hot spot that moves every {size.period:g} s: routing cost with the loop",
        f">= {WANTED_SAVING:.0%} lower",
        f"{saved:.1%} lower: {costs[1]:,.0f} instead of {costs[0]:,.0f}",
        saved >= WANTED_SAVING,
        {"saved": saved, **{each.seen.mode: details(each) for each in (without, with_loop)}},
    )
    yield Line(
        "99th percentile of the delivery latency with the loop",
        "not higher",
        f"{with_loop.p99:,.0f} ms instead of {without.p99:,.0f} ms "
        f"(p50 {with_loop.p50:,.0f} and {without.p50:,.0f} ms)",
        with_loop.p99 <= without.p99,
        {},
    )
    for each in (without, with_loop):
        yield _verdict_line(each)
    sent = size.publications()
    expected = expected_cost(size, sent, deliveries_due(size, sent))
    yield Line(
        "counted cost without changes against function (1)",
        "equal",
        f"{costs[0]:,.0f} and {expected:,.0f}; {without.seen.spent.missing + with_loop.seen.spent.missing} "
        "records missing",
        costs[0] >= expected and without.seen.spent.missing + with_loop.seen.spent.missing == 0,
        {"expected": expected},
    )
    yield from _about(with_loop)


def _verdict_line(each: Judged) -> Line:
    verdict = each.verdict
    faults = ", ".join(
        f"{getattr(verdict, name):,} {name}" for name in ("lost", "repeated", "unwanted", "reordered")
    )
    processors = ", ".join(f"{name} {cores:.2f}" for name, cores in each.seen.processors.items())
    return Line(
        f"mode {each.seen.mode}: {verdict.due:,} deliveries due (cores: {processors})",
        "nothing lost",
        f"{verdict.delivered:,} delivered, {faults}",
        verdict.complete,
        verdict._asdict(),
    )


def _about(each: Judged) -> Iterator[Line]:
    for number, operation in enumerate(each.seen.operations, 1):
        begun = operation["began"] - each.seen.began
        ended = (operation["ended"] or operation["changed_at"]) - each.seen.began
        shown = f"{operation['actions_done']} of {operation['actions']} shifts in {operation['steps']} steps"
        yield Line(
            f"change {number}, from second {begun:.0f} to {ended:.0f}",
            "-",
            f"{operation['state']}: {shown}",
            None,
            {},
        )


def details(each: Judged) -> dict[str, Any]:
    """By second, for a plot and for whoever asks why."""
    seen = each.seen
    p99 = []
    for second in range(int(np.ceil(seen.sent.max())) if len(seen.sent) else 0):
        late = seen.arrivals.seconds[(seen.sent >= second) & (seen.sent < second + 1)]
        p99.append(round(float(np.percentile(late, 99)) * 1e3, 1) if len(late) else None)
    return {
        "verdict": each.verdict._asdict(),
        "p50_ms": each.p50,
        "p99_ms": each.p99,
        "worst_ms": each.worst,
        "cost": seen.spent.cost,
        "cost_by_second": seen.spent.costs(),
        "p99_ms_by_second": p99,
        "processors": seen.processors,
        "windows": seen.windows,
        "operations": [{**each, "outcome": None} for each in seen.operations],
        "decisions": [
            {"second": round(said["at"] - seen.began, 1), "kind": said["kind"], "text": said["text"]}
            for said in seen.decisions
        ],
    }
