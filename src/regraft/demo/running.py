"""Everything that the demo runs: the overlay, its traffic and the loop, inside one block (`running`).

What can be seen while it runs is in `Scene`.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from regraft.coord.typed import watch
from regraft.demo.demands import Workload, classes, workload
from regraft.demo.network import hub_tree, network, reachable
from regraft.demo.stage import Stage, staged, with_places
from regraft.deploy.journal import topology_of
from regraft.deploy.records import Current
from regraft.design.ocbr.effort import Effort
from regraft.design.ocbr.problem import Problem
from regraft.design.ocbr.propose import propose_tree
from regraft.estate.opening import opened
from regraft.estate.regraft.estate import TABLES_FOLDER
from regraft.estate.regraft.measuring import Measurer
from regraft.estate.regraft.tables import TREE_TABLES
from regraft.model import Ends, Topology
from regraft.plan.warm import warm as warm_plan
from regraft.serve import views as v
from regraft.serve.configuration_file import configured
from regraft.serve.running import running_service
from regraft.serve.service import Service

RATE = 60.0
"""Events a second: 24 brokers on two processors carry them easily, beside Spark."""


@dataclass(frozen=True)
class Options:
    cities: tuple[str, ...] = ()
    """Empty: all 24."""
    rate: float = RATE
    window: float = 10.0
    after: float = 3.0
    """Seconds of traffic after the crash is healed."""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings of the loop that differ from `loop_settings`, as sections of a configuration file."""


@dataclass
class Scene:
    """What can be seen at any moment. `say` is called with a line of text when something has happened."""

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
    """The scene before anything runs. `work`: traffic to use instead of the demo's."""
    net = network(options.cities)
    tree = hub_tree(net)
    traffic = work or workload(net.ids, options.rate)
    return Scene(net, tree, traffic, say, tuple(sorted(tree.by_ends)), tree.ids)


@asynccontextmanager
async def running(seen: Scene, options: Options, folder: Path) -> AsyncIterator[None]:
    """Brokers, traffic and the loop run inside the block."""
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
        measurer.stop()  # a warm-up that is still running fails by this, so that its thread ends
        warming.cancel()
        await asyncio.gather(warming, return_exceptions=True)
        await asyncio.to_thread(measurer.wait)


@asynccontextmanager
async def _followed(seen: Scene) -> AsyncIterator[None]:
    """Follows the clients' reports and the topology; a fault in either cancels the block and is raised."""
    assert seen.stage is not None
    block = asyncio.current_task()
    tasks = [asyncio.create_task(seen.stage.follow()), asyncio.create_task(_follow_topology(seen))]
    faults: list[BaseException] = []

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (fault := task.exception()) is not None and block is not None:
            faults.append(fault)
            block.cancel()

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
    """Warms up only once: the demo does so early, while the brokers start, and the loop would do it again."""

    is_warm = False

    def warm(self) -> None:
        if not self.is_warm:
            super().warm()
            self.is_warm = True

    def stop(self) -> None:
        """Java may be stopped while it works; without this, pyspark would print a traceback."""
        from pyspark import SparkContext  # noqa: PLC0415 — loads pyspark

        server = getattr(SparkContext._active_spark_context, "_accumulatorServer", None)
        if server is not None:
            server.handle_error = lambda request, address: None
        super().stop()


async def _warmed(seen: Scene, measurer: WarmMeasurer) -> None:
    """Warms up Spark, then the compiled code that designs and plans, while the brokers start."""
    await asyncio.to_thread(measurer.warm)
    for compile in (partial(_design_once, seen), warm_plan):
        await _in_daemon_thread(compile)
    seen.say("Spark is warm")


async def _in_daemon_thread(work: Callable[[], None]) -> None:
    """Compiling cannot be interrupted: if the demo ends earlier, it must not wait for this thread."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    faults: list[Exception] = []

    def run() -> None:
        try:
            work()
        except Exception as fault:
            faults.append(fault)
        with suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=run, name="warming", daemon=True).start()
    await done.wait()
    for fault in faults:
        raise fault


def _design_once(seen: Scene) -> None:
    """One short design, which loads or compiles the code for the next ones."""
    problem = Problem.of(seen.tree, classes(seen.work), reachable(seen.net))
    propose_tree(problem, seen.tree, effort=Effort(moves=200))


def _measurer(folder: Path, options: Options) -> WarmMeasurer:
    configuration = configured(with_places(loop_settings(options), ""), folder, {})
    return WarmMeasurer(
        configuration.telemetry,
        configuration.spark,
        configuration.state.folder / TABLES_FOLDER,
        configuration.loop.window,
        tables=TREE_TABLES,
        windows=configuration.state.windows,
    )


def loop_settings(options: Options) -> dict[str, Any]:
    """One window is enough evidence, and no person approves. The cool-down allows one change in a demo."""
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
