"""Plans on live brokers: time of a shift, latency while it happens, parallel steps, many subscribers."""

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks._apply_clients import Brief
from benchmarks._apply_figures import add_options, figures
from benchmarks._apply_overlay import clients, overlay, verify
from benchmarks._apply_shifts import QUIET, Shifted, affected, shifts
from benchmarks._table import Line, show

from regraft.client import connect
from regraft.deploy.execute import execute, roll_back
from regraft.lab.ipitt_workload import subscriptions
from regraft.lab.workload import Shape, tree, with_links_changed
from regraft.model import Infeasible, Limits
from regraft.plan import make_plan

SHAPE = Shape(5, False, 1)
SESSIONS = 20
"""Among which subscriptions are divided, at as many brokers as there are."""


def percentiles(values: list[float]) -> tuple[float, float]:
    return float(np.median(values)), float(np.percentile(values, 99))


# A single shift


async def under_load(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    topology = tree(arguments.brokers, SHAPE)
    rng = random.Random(arguments.seed)
    places = rng.sample(topology.ids, min(8, len(topology.ids)))
    publishers, subscribers = places[: len(places) // 2], places[len(places) // 2 :]
    async with overlay(topology, folder) as running:
        brief = Brief(
            [running.where(id) for id in publishers],
            arguments.rate,
            [running.where(id) for id in subscribers],
            1,
        )
        async with clients(brief, folder) as traffic:
            await asyncio.sleep(2.0)
            made = await shifts(running, arguments.shifts, arguments.seed)
            verdict = await traffic.verdict()
            rows = np.load(traffic.rows)
    return verdict | _latencies(rows, made, publishers, subscribers)


def _latencies(
    rows: Any, made: list[Shifted], publishers: list[str], subscribers: list[str]
) -> dict[str, Any]:
    hit = affected(rows, made, publishers, subscribers)
    late = 1000 * (rows[:, 4] - rows[:, 3])
    return {
        "shift_ms": [1000 * each.seconds for each in made],
        "affected": int(hit.sum()),
        "affected_p99_ms": float(np.percentile(late[hit], 99)) if hit.any() else None,
        "unaffected_p99_ms": float(np.percentile(late[~hit], 99)),
        "unaffected_p50_ms": float(np.median(late[~hit])),
    }


def single(arguments: argparse.Namespace, folder: Path) -> Iterator[Line]:
    seen = asyncio.run(under_load(arguments, folder))
    p50, p99 = percentiles(seen["shift_ms"])
    about = f"{p50:.1f} ms median, {p99:.1f} ms p99 of {len(seen['shift_ms'])}"
    yield Line(f"one shift at {arguments.rate:,.0f} msg/s", "<= 50 ms median", about, p50 <= 50, seen)
    if seen["affected_p99_ms"] is not None:
        more = seen["affected_p99_ms"] - seen["unaffected_p99_ms"]
        others = f"others {seen['unaffected_p99_ms']:.0f} ms"
        about = f"{seen['affected_p99_ms']:.0f} ms ({seen['affected']:,} affected), {others}"
        yield Line("p99 latency of affected publications", "<= 200 ms more", about, more <= 200, {})
    fate = f"{seen['lost']} lost, {seen['duplicated']} duplicated, {seen['reordered']} reordered"
    clean = not (seen["lost"] or seen["duplicated"] or seen["reordered"])
    yield Line("meanwhile", "0 lost", f"{fate} of {seen['due']:,}", clean, {})


# Parallel steps


async def side_by_side(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The same goal by both plans, there and back in between; the median of several times."""
    topology = tree(arguments.large, SHAPE)
    goal = with_links_changed(topology, 0.2, arguments.seed)
    plans = {}
    for name, limit in (("fast", 2.0), ("best-first", arguments.search)):
        found = make_plan(topology, goal, Limits(time_limit=limit), name)
        if isinstance(found, Infeasible):
            return {"reason": f"{name}: {found.reason}"}
        plans[name] = found
    seconds: dict[str, list[float]] = {name: [] for name in plans}
    async with overlay(topology, folder) as running:
        for _ in range(arguments.times):
            for name, plan in plans.items():
                outcome = await execute(plan, running.coord, running.layout, verify, QUIET)
                if not outcome.goal:
                    raise RuntimeError(outcome.reason)
                seconds[name].append(outcome.seconds)
                await roll_back(running.coord, running.layout, QUIET)
    sizes = {name: (len(plan.steps), plan.actions) for name, plan in plans.items()}
    return {"seconds": seconds, "sizes": sizes}


def parallel(arguments: argparse.Namespace, folder: Path) -> Iterator[Line]:
    seen = asyncio.run(side_by_side(arguments, folder))
    what = f"plan execution, {arguments.large} brokers, 20 % changed"
    if "reason" in seen:
        yield Line(what, "<= half of best-first's", seen["reason"], None, seen)
        return
    ours, theirs = (float(np.median(seen["seconds"][name])) for name in ("fast", "best-first"))
    told = {name: "{} steps, {} actions".format(*size) for name, size in seen["sizes"].items()}
    about = f"{ours:.2f} s ({told['fast']}), best-first {theirs:.2f} s ({told['best-first']})"
    yield Line(what, "<= half of best-first's", about, ours <= theirs / 2, seen)


# Many subscribers


async def with_subscribers(count: int, arguments: argparse.Namespace, folder: Path) -> list[float]:
    topology = tree(arguments.brokers, SHAPE)
    filters = list(subscriptions(count, arguments.seed).filters())
    async with overlay(topology, folder) as running, AsyncExitStack() as stack:
        publisher = await stack.enter_async_context(connect(running.where(topology.ids[0]), timeout=60))
        await publisher.advertise("x >= 0 AND y >= 0")
        for number in range(SESSIONS):
            where = running.where(topology.ids[number % len(topology.ids)])
            session = await stack.enter_async_context(connect(where, timeout=60))
            placed = [session.subscribe(each) for each in filters[number::SESSIONS]]
            for subscription in placed:
                await subscription
        made = await shifts(running, arguments.shifts, arguments.seed)
    return [1000 * each.seconds for each in made]


def many(arguments: argparse.Namespace, folder: Path) -> Iterator[Line]:
    medians: dict[int, float] = {}
    for count in (1_000, 10_000):
        place = folder / str(count)
        place.mkdir()
        medians[count] = percentiles(asyncio.run(with_subscribers(count, arguments, place)))[0]
    few, more = medians[1_000], medians[10_000]
    about = f"{few:.1f} ms at 1,000 subscriptions, {more:.1f} ms at 10,000 ({more / few:.1f} times)"
    yield Line("one shift, subscribers × 10", "less than × 10", about, more < 10 * few, {"ms": medians})


PARTS = {"single": single, "parallel": parallel, "many": many, "figures": figures}
LONG = {"figures"}
"""Only if they are named."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; may be given again")
    parser.add_argument("--brokers", type=int, default=10)
    parser.add_argument("--large", type=int, default=60, help="brokers of the parallel plan")
    parser.add_argument("--rate", type=float, default=1000.0, help="messages per second")
    parser.add_argument("--shifts", type=int, default=40)
    parser.add_argument("--times", type=int, default=3, help="executions of each of the two plans")
    parser.add_argument("--search", type=float, default=60.0, help="seconds for the best-first search")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    add_options(parser)
    arguments = parser.parse_args()

    def lines() -> Iterator[Line]:
        for name, part in PARTS.items():
            if name in arguments.part if arguments.part else name not in LONG:
                with tempfile.TemporaryDirectory() as folder:
                    yield from part(arguments, Path(folder))

    shown = show(lines(), f"seed {arguments.seed}", arguments.out)
    sys.exit(0 if all(line.met is not False for line in shown) else 1)


if __name__ == "__main__":
    main()
