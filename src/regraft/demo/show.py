"""The course of the demo: a window of traffic, a better topology from the loop, a crash, healing, the count.

What can be seen meanwhile is in `Scene`. If the loop finds nothing better, or the crash is not healed in
time, the demo fails and says so.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from regraft.coord.typed import watch
from regraft.demo import story as s
from regraft.demo.crash import crash
from regraft.demo.demands import Workload, classes, workload
from regraft.demo.network import hub_tree, network, reachable
from regraft.demo.stage import Stage, keys, staged
from regraft.demo.tally import Counts
from regraft.deploy.journal import topology_of
from regraft.deploy.records import Current
from regraft.design.ocbr.effort import Effort
from regraft.design.ocbr.problem import Problem
from regraft.design.ocbr.propose import propose_tree
from regraft.estate.opening import opened
from regraft.estate.regraft.estate import TABLES_FOLDER
from regraft.estate.regraft.measuring import Measurer
from regraft.estate.regraft.tables import TREE_TABLES
from regraft.model import Ends, RegraftError, Topology
from regraft.plan.warm import warm as warm_plan
from regraft.serve import views as v
from regraft.serve.configuration_file import configured
from regraft.serve.running import running_service
from regraft.serve.service import Service

T = TypeVar("T")
POLL_SECONDS = 0.1
CHANGED_SECONDS = 180.0
"""For the loop to propose and to carry out."""
VERIFIED_SECONDS = 40.0
"""For the first whole window on the new topology to be measured; without it, the demo goes on."""
RATE = 60.0
"""Events a second; what 24 brokers on two processors do with ease, beside Spark."""
IDLE_SECONDS = 15.0
FIRST_SECONDS = 1.0
"""Of the traffic: everything happens for the first time."""


@dataclass(frozen=True)
class Options:
    cities: tuple[str, ...] = ()
    """None: all 24."""
    rate: float = RATE
    window: float = 10.0
    after: float = 3.0
    """Seconds of traffic after the healing."""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Of the loop, other than the demo's, as sections of a configuration file."""


@dataclass
class Scene:
    """What one can see at any moment. `say` is called with a line when something has happened."""

    net: Topology
    tree: Topology
    work: Workload
    say: Callable[[str], None]
    links: tuple[Ends, ...] = ()
    brokers: tuple[str, ...] = ()
    act: str = "starting"
    stage: Stage | None = None
    service: Service | None = None
    operation: v.OperationView | None = None
    victim: str = ""


def scene(options: Options, say: Callable[[str], None], work: Workload | None = None) -> Scene:
    """`work`: other traffic than the demo's."""
    net = network(options.cities)
    tree = hub_tree(net)
    traffic = work or workload(net.ids, options.rate)
    return Scene(net, tree, traffic, say, tuple(sorted(tree.by_ends)), tree.ids)


@asynccontextmanager
async def running(seen: Scene, options: Options, folder: Path) -> AsyncIterator[None]:
    """Everything runs: brokers, traffic, the loop."""
    measurer = _measurer(folder, options)
    warming = asyncio.create_task(_warmed(seen, measurer))
    try:
        settings = loop_settings(options)
        ready = asyncio.shield(warming)
        async with staged(seen.net, seen.tree, seen.work, settings, folder, seen.say, ready) as stage:
            seen.stage = stage
            async with (
                opened(stage.configuration.estate, measurer) as estate,
                running_service(stage.configuration, estate) as service,
                _followed(seen),
            ):
                seen.service = service
                yield
    finally:
        measurer.stop()  # under a warm-up, whose thread ends by that
        warming.cancel()
        await asyncio.gather(warming, return_exceptions=True)
        await asyncio.to_thread(measurer.wait)


@asynccontextmanager
async def _followed(seen: Scene) -> AsyncIterator[None]:
    """Clients and topology; a fault of theirs ends the demo."""
    assert seen.stage is not None
    inside = asyncio.current_task()
    tasks = [asyncio.create_task(seen.stage.follow()), asyncio.create_task(_follow_topology(seen))]
    faults: list[BaseException] = []

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (fault := task.exception()) is not None and inside is not None:
            faults.append(fault)
            inside.cancel()

    for task in tasks:
        task.add_done_callback(ended)
    try:
        yield
    except asyncio.CancelledError:
        if faults:
            raise faults[0] from None
        raise
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _follow_topology(seen: Scene) -> None:
    assert seen.stage is not None
    async for stored in watch(seen.stage.coord, seen.stage.layout.topology, Current):
        value = getattr(stored, "value", None)
        if isinstance(value, Current):
            now = topology_of(value)
            seen.links, seen.brokers = tuple(sorted(now.by_ends)), now.ids


class WarmMeasurer(Measurer):
    """Warm only once."""

    is_warm = False

    def warm(self) -> None:
        if not self.is_warm:
            super().warm()
            self.is_warm = True

    def stop(self) -> None:
        """Java may end in the middle of something; pyspark would print where."""
        from pyspark import SparkContext  # noqa: PLC0415 — loads pyspark

        server = getattr(SparkContext._active_spark_context, "_accumulatorServer", None)
        if server is not None:
            server.handle_error = lambda request, address: None
        super().stop()


async def _warmed(seen: Scene, measurer: WarmMeasurer) -> None:
    """Spark, then what designs and plans, while the brokers start."""
    await asyncio.to_thread(measurer.warm)
    for compile in (partial(_design_once, seen), warm_plan):
        await _left_behind(compile)
    seen.say("Spark is warm")


async def _left_behind(work: Callable[[], None]) -> None:
    """In a thread that nobody waits for if the demo ends before: what compiles cannot be interrupted."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    faults: list[Exception] = []

    def run() -> None:
        try:
            work()
        except Exception as fault:
            faults.append(fault)
        with suppress(RuntimeError):  # the loop has closed
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=run, name="warming", daemon=True).start()
    await done.wait()
    for fault in faults:
        raise fault


def _design_once(seen: Scene) -> None:
    """What is compiled for it is loaded then."""
    problem = Problem.of(seen.tree, classes(seen.work), reachable(seen.net))
    propose_tree(problem, seen.tree, effort=Effort(moves=200))


def _measurer(folder: Path, options: Options) -> WarmMeasurer:
    configuration = configured(keys(loop_settings(options), ""), folder, {})
    return WarmMeasurer(
        configuration.telemetry,
        configuration.spark,
        configuration.state.folder / TABLES_FOLDER,
        configuration.loop.window,
        tables=TREE_TABLES,
        windows=configuration.state.windows,
    )


def loop_settings(options: Options) -> dict[str, Any]:
    """Bold: one window is enough, and nothing is asked of a person. One change in a demo is enough, too."""
    own: dict[str, dict[str, Any]] = {
        "spark": {"master": "local[2]"},
        "loop": {
            "mode": "automatic",
            "window": f"{options.window:g}s",
            "settle": "1500ms",
            "least_publications": round(0.6 * options.rate * options.window),
            "confirm": 1,
            "least_gain": 0.02,
            "cool_down": "1h",
        },
        "design": {"time_limit": "1s"},
        "plan": {"time_limit": "1s"},
    }
    return own | {name: {**own.get(name, {}), **given} for name, given in options.settings.items()}


# The course


async def show(seen: Scene, options: Options, started: float) -> s.Story:
    """Within `running`. `started`: of the whole demo, by `time.monotonic`."""
    stage, service = seen.stage, seen.service
    assert stage is not None
    assert service is not None
    began = time.time()
    seen.act = "the first window"
    operation, proposal, shifted = await _changed(seen, service)
    after_change = seen.links
    seen.act = "the first window on the new topology"
    await _verified(seen, service, proposal.sha256)
    seen.act = "a broker is killed"
    healing, killed, healed = await crash(seen, stage, service)
    seen.act = "healed"
    await asyncio.sleep(options.after)
    seen.act = "counting"
    service.pause("the demo counts", "demo")
    ended = time.time()
    stage.finish()
    counts = await _within(30 + CHANGED_SECONDS, "the clients do not count", lambda: _counted(stage))
    await _idle(service)
    change = await _change(service, operation, proposal.sha256, shifted)
    assert operation.ended is not None
    costs = (change.costs[0], max(change.costs), change.costs[-1])
    spells = (
        s.spell("before", stage.samples, began + FIRST_SECONDS, operation.began, costs[0]),
        s.spell("during", stage.samples, operation.began, operation.ended, costs[1]),
        s.spell("after", stage.samples, operation.ended, killed, costs[2]),
        s.spell("healing", stage.samples, killed, healed),
        s.spell("healed", stage.samples, healed, ended),
    )
    return s.Story(
        began=began,
        seconds=time.monotonic() - started,
        brokers=len(seen.tree.ids),
        publishers=len(seen.work.rates),
        subscribers=len(seen.work.wants),
        rate=seen.work.rate,
        counts=counts,
        spells=spells,
        change=change,
        healing=healing,
        before=tuple(sorted(seen.tree.by_ends)),
        after=after_change,
        healed=seen.links,
        decisions=tuple(
            s.Decision(at=each.at, kind=each.kind, text=each.text)
            for each in reversed(service.decisions(100))
        ),
        windows=tuple(_window(each) for each in reversed(service.snapshots(100)) if each.publications),
    )


async def _changed(seen: Scene, service: Service) -> tuple[v.OperationView, v.ProposalView, float]:
    """Until the loop has carried a change out; and when its first shift began."""
    shifted = 0.0
    deadline = time.monotonic() + CHANGED_SECONDS
    proposal: v.ProposalView | None = None
    while time.monotonic() < deadline:
        await asyncio.sleep(POLL_SECONDS)
        if proposal is None and (proposals := service.proposals(1)):
            proposal = proposals[0]
            seen.say(
                f"the loop proposes {proposal.steps} steps with {proposal.actions} shifts: "
                f"{proposal.gain:.0%} less routing cost"
            )
        operation = next(iter(service.operations(1)), None)
        if operation is None or proposal is None:
            continue
        seen.operation, seen.act = operation, "the topology changes under traffic"
        if operation.run is not None and not shifted:
            shifted = time.time()
        if operation.ended is not None:
            if operation.state != "done":
                raise RegraftError(f"the change was not carried out: {operation.reason}")
            seconds = operation.ended - operation.began
            seen.say(f"carried out in {seconds:.1f} s: {operation.actions} shifts in {operation.steps} steps")
            return operation, proposal, shifted or operation.began
    said = "; ".join(each.text for each in service.decisions(3))
    raise RegraftError(f"no change within {CHANGED_SECONDS:g} s: {said or 'the loop has decided nothing'}")


async def _verified(seen: Scene, service: Service, sha256: str) -> None:
    deadline = time.monotonic() + VERIFIED_SECONDS
    while time.monotonic() < deadline:
        found = service.proposal(sha256)
        if isinstance(found, v.ProposalView) and found.measured_gain is not None:
            seen.say(f"the loop has measured the gain: {found.measured_gain:.0%}")
            return
        await asyncio.sleep(POLL_SECONDS)
    seen.say("the new topology was not measured in time")


async def _counted(stage: Stage) -> Counts:
    while stage.counts is None:
        await asyncio.sleep(POLL_SECONDS)
    return Counts(**stage.counts)


async def _idle(service: Service) -> None:
    """What Spark is doing is not ended under it, unless that takes too long."""
    deadline = time.monotonic() + IDLE_SECONDS
    while service.state().phase != "waiting" and time.monotonic() < deadline:
        await asyncio.sleep(POLL_SECONDS)


async def _within(seconds: float, reason: str, work: Callable[[], Awaitable[T]]) -> T:
    try:
        async with asyncio.timeout(seconds):
            return await work()
    except TimeoutError:
        raise RegraftError(reason) from None


async def _change(service: Service, operation: v.OperationView, sha256: str, shifted: float) -> s.Change:
    proposal, plan = service.proposal(sha256), await service.plan(sha256)
    if isinstance(proposal, v.Refused) or isinstance(plan, v.Refused):
        raise RegraftError("the plan that was carried out is not known")
    window = service.snapshot(proposal.window or "")
    audit = next(run for run in service.series().runs if run.run == operation.run)
    if isinstance(window, v.Refused) or operation.ended is None:
        raise RegraftError("the window that the plan was made from is not known")
    costs = [(step.numbers.get("routing_cost") or 0.0) / window.publications for step in plan.steps]
    return s.Change(
        plan=sha256,
        method=proposal.method,
        planner=proposal.planner,
        gain=proposal.gain,
        measured_gain=proposal.measured_gain,
        steps=proposal.steps,
        actions=proposal.actions,
        seconds=operation.ended - operation.began,
        waited=shifted - window.end,
        measuring=window.seconds,
        costs=tuple(costs),
        canaries={name: getattr(audit, name) for name in s.CANARIES},
        moves=tuple(tuple(action.text for action in step.actions) for step in plan.steps[1:]),
    )


def _window(seen: v.SnapshotView) -> dict[str, Any]:
    cost = seen.numbers.get("routing_cost")
    return {
        "start": seen.start,
        "end": seen.end,
        "publications": seen.publications,
        "deliveries": seen.deliveries,
        "records": seen.records,
        "seconds": seen.seconds,
        "p50_ms": seen.p50_ms,
        "p99_ms": seen.p99_ms,
        "cost": cost / seen.publications if cost is not None else None,
    }
