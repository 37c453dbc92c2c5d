"""One run of the plan execution experiment (IPITT §VI): an overlay, its clients, one plan carried out.

`python -m benchmarks._apply_figures_run FOLDER`, in a process of its own, so that nothing is left over for
the next run. FOLDER has `trial.json` and `plan.json`; afterwards also `execution.json`, `deliveries.npz` and
`shifts.json`. This process has the deployer; brokers and their agents share a few others.
"""

import asyncio
import json
import logging
import shutil
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks._apply_figures_brokers import Share
from benchmarks._apply_figures_clients import WITHOUT_END, Brief
from benchmarks._overlay_work import ROOT, Arrivals, due, judged, leaves

from regraft.broker.io.running import run
from regraft.coord import Coord, Ensemble, Layout
from regraft.coord.typed import encode, read
from regraft.deploy.begin import RunSettings
from regraft.deploy.execute import execute
from regraft.deploy.records import Current, Status
from regraft.lab.ipitt_execution import DONE, Execution, Trial
from regraft.lab.ipitt_execution_metrics import (
    Deliveries,
    Flags,
    Queue,
    Shift,
    affected,
    changed_paths,
    growths,
    in_transit,
    p99,
)
from regraft.lab.ipitt_workload import homes, publications, subscriptions
from regraft.lab.workload import SHAPES, trees
from regraft.model import Limits, Plan, Topology
from regraft.model.limits import TREE_OPERATIONS
from regraft.model.outcome import Outcome
from regraft.model.plan_files import read_plan
from regraft.plan import verify as replay

PROCESSES = 4
"""That share the brokers."""
WARM_UP, AFTER = 6.0, 3.0
"""Seconds of traffic before the transformation, and after it."""
STOP_SECONDS = 20.0
LINE_BYTES = 2**24
STATE = "state"
"""Folder of the brokers' journals; removed also by who has killed this process."""


class Seen(NamedTuple):
    """What one run has left behind."""

    outcome: Outcome
    clock: float
    """To be added to the journal's times: that of the clients is monotonic."""
    published: int
    arrivals: np.ndarray[Any, np.dtype[np.float64]]
    queues: dict[str, Queue]
    faults: dict[str, str]


def topologies(trial: Trial) -> tuple[Topology, Topology]:
    shape = next(shape for shape in SHAPES if str(shape) == trial.topology)
    return trees(trial.brokers, trial.change / 100, shape)


def places(trial: Trial) -> list[str]:
    """The broker of each subscriber."""
    return homes(trial.subscribers, leaves(topologies(trial)[0]), trial.seed)


# Running


async def observe(trial: Trial, plan: Plan, folder: Path) -> Seen:
    initial, _ = topologies(trial)
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        ensemble = await enter(Ensemble(1))
        shares = [await enter(_child("_apply_figures_brokers", str(folder))) for _ in range(PROCESSES)]
        addresses = await _linked(initial, shares, ensemble.hosts)
        layout, coord = Layout(), await enter(await Coord.connect(ensemble.hosts))
        links = [link.ends for link in initial.links]
        first = Current(epoch=1, kind=initial.kind, brokers=list(initial.ids), links=links)
        await coord.create(layout.topology, encode(first))
        await _present(coord, layout, initial)
        brief = folder / "brief.json"
        where = [addresses[id] for id in places(trial)]
        brief.write_text(json.dumps(Brief(addresses[ROOT], where, trial.seed)._asdict()))
        arrivals = folder / "arrivals.npy"
        words = (str(brief), str(arrivals))
        publishers = await enter(_child("_apply_figures_clients", "publish", *words, kill=True))
        await _expect(publishers, "ready")
        subscribers = await enter(_child("_apply_figures_clients", "subscribe", *words, kill=True))
        await _expect(subscribers, "ready")
        await _say(publishers)
        await _all(shares, "look")
        await asyncio.sleep(WARM_UP)
        clock = time.monotonic() - time.time()
        outcome = await execute(plan, coord, layout, _verify, RunSettings(canaries=0))
        await asyncio.sleep(AFTER)
        await _say(publishers)
        told = json.loads(await _line(publishers))
        await _say(subscribers)
        await _expect(subscribers, "done")
        faults = await _all(shares, "save")
        return Seen(outcome, clock, told["published"], np.load(arrivals), _queues(folder), faults)


async def _linked(topology: Topology, shares: list[Process], zookeeper: str) -> dict[str, str]:
    """Where clients find the brokers, of which all links are up."""
    addresses: dict[str, tuple[str, int]] = {}
    for number, share in enumerate(shares):
        mine = {id: sorted(topology.neighbours[id]) for id in topology.ids[number :: len(shares)]}
        await _say(share, json.dumps(Share(str(number), mine, zookeeper)._asdict()))
    for share in shares:
        addresses |= json.loads(await _line(share))
    await _all(shares, json.dumps(addresses))
    return {id: "{}:{}".format(*address) for id, address in addresses.items()}


async def _present(coord: Coord, layout: Layout, topology: Topology) -> None:
    """Until every broker has an agent that says where it is."""
    async with asyncio.timeout(120):
        for id in topology.ids:
            while True:
                status = await read(coord, layout.status(id), Status)
                if status is not None and status.value.port and await coord.get(layout.alive(id)) is not None:
                    break
                await asyncio.sleep(0.05)


def _verify(plan: Plan, current: Topology, goal: Topology) -> None:
    replay(plan, current, goal, Limits(operations=frozenset(TREE_OPERATIONS)))


def _queues(folder: Path) -> dict[str, Queue]:
    found: dict[str, Queue] = {}
    for number in range(PROCESSES):
        with np.load(folder / f"{number}.npz") as seen:
            times, held = seen["times"], seen["held"]
            found |= {id: Queue(times, held[:, n]) for n, id in enumerate(seen["ids"].tolist())}
    return found


# Judging


def execution(trial: Trial, plan: Plan, seen: Seen) -> tuple[Execution, Deliveries, Flags, list[Shift]]:
    initial, _ = topologies(trial)
    numbers = {id: number for number, id in enumerate(initial.ids)}
    at = np.array([numbers[id] for id in places(trial)], np.int64)
    subscribers, sent_numbers = seen.arrivals[:, 0].astype(np.int64), seen.arrivals[:, 1].astype(np.int64)
    deliveries = Deliveries(subscribers, at[subscribers], sent_numbers, *seen.arrivals[:, 2:].T)
    shifts = _shifts(seen)
    links = [link.ends for link in initial.links]
    hit = affected(deliveries, shifts, changed_paths(links, ROOT, shifts), numbers)
    begun, ended = min(each.begun for each in shifts), max(each.ended for each in shifts)
    every, most = zip(*growths(shifts, seen.queues), strict=True)
    sent = list(islice(publications(WITHOUT_END, trial.seed), seen.published))
    verdict = judged(
        due(subscriptions(trial.subscribers, trial.seed), sent),
        Arrivals(subscribers, sent_numbers, deliveries.received - deliveries.sent),
        np.array([each.publisher for each in sent], np.int64),
    )
    milliseconds = [1000 * (each.ended - each.begun) for each in shifts]
    faults = "; ".join(f"{id}: {fault}" for id, fault in seen.faults.items())
    reached = seen.outcome.goal and not faults
    found = Execution(
        status=DONE if reached else "failed",
        reason="" if reached else faults or seen.outcome.reason or seen.outcome.state,
        steps=len(plan.steps),
        actions=plan.actions,
        execution_s=seen.outcome.seconds,
        shift_p50_ms=float(np.median(milliseconds)),
        shift_p99_ms=p99(milliseconds),
        attempts=max(each.attempts for each in seen.outcome.actions),
        published=seen.published,
        **verdict._asdict(),
        affected=int(hit.sum()),
        affected_publications=len(np.unique(sent_numbers[hit])),
        affected_p99_ms=p99(deliveries.milliseconds(hit)),
        unaffected_p99_ms=p99(deliveries.milliseconds(~hit)),
        in_transit_p99_ms=p99(deliveries.milliseconds(in_transit(deliveries, begun, ended))),
        before_p99_ms=p99(deliveries.milliseconds(deliveries.received < begun)),
        queue_p99=p99(every),
        queue_most_p99=p99(most),
    )
    return found, deliveries, hit, shifts


def _shifts(seen: Seen) -> list[Shift]:
    """Those that were carried out, in the order of their steps."""
    found = []
    for each in seen.outcome.actions:
        if each.begun is not None and each.seconds is not None:
            _, i, j, k = each.action
            begun = each.begun + seen.clock
            found.append(Shift(each.step, i, j, k, begun, begun + each.seconds))
    return found


def save(folder: Path, found: Execution, deliveries: Deliveries, hit: Flags, shifts: list[Shift]) -> None:
    np.savez_compressed(
        folder / "deliveries.npz",
        subscribers=deliveries.subscribers,
        sent=deliveries.sent,
        received=deliveries.received,
        affected=hit,
    )
    (folder / "shifts.json").write_text(json.dumps(shifts))
    (folder / "execution.json").write_text(json.dumps(found._asdict()))


# Processes


@asynccontextmanager
async def _child(module: str, *words: str, kill: bool = False) -> AsyncIterator[Process]:
    """Ended with the block by the end of its input, or killed if it does not end or need not be asked."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"benchmarks.{module}", *words), stdin=PIPE, stdout=PIPE, limit=LINE_BYTES
    )
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(0.0 if kill else STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def _line(process: Process) -> str:
    assert process.stdout is not None
    if not (line := await process.stdout.readline()):
        raise RuntimeError("a process has ended before its time; what it said is above")
    return line.decode().rstrip("\n")


async def _expect(process: Process, wanted: str) -> None:
    if (line := await _line(process)) != wanted:
        raise RuntimeError(f"expected {wanted!r}, got {line!r}")


async def _say(process: Process, line: str = "") -> None:
    assert process.stdin is not None
    process.stdin.write(line.encode() + b"\n")
    await process.stdin.drain()


async def _all(processes: list[Process], line: str) -> dict[str, str]:
    for process in processes:
        await _say(process, line)
    answers = [json.loads(await _line(process)) for process in processes]
    return {id: fault for answer in answers for id, fault in answer.items()}


def main(folder: Path) -> None:
    trial = Trial(*json.loads((folder / "trial.json").read_text()))
    plan = read_plan(folder / "plan.json")
    state = folder / STATE
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir()
    try:
        seen = run(observe(trial, plan, state))
    finally:
        shutil.rmtree(state, ignore_errors=True)
    save(folder, *execution(trial, plan, seen))


if __name__ == "__main__":
    logging.basicConfig(level="WARNING", format="%(name)s: %(message)s")
    main(Path(sys.argv[1]))
