"""`regraft up --heal`: destination databases and nodes instead of brokers and agents.

A node that ends is started again, unless a rule has taken its broker out of service. A broker that a rule
adds is started, whether it ran here before or not (`regraft.node.healing.in_service`).
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.help_headings import advanced
from regraft.cli.up_options import Configure, make_folder
from regraft.model import BadInput, RegraftError, Topology

if TYPE_CHECKING:
    from regraft.coord import Coord, Layout
    from regraft.node.healing.processes import NodeProcesses
    from regraft.node.healing.settings import NodeSettings

AGAIN_SECONDS = 1.0
"""How long to wait before a node that has ended is started again."""
BACK = "`regraft rules raise addBrokerRequest {}`"


def heal_options(command: Any) -> Any:
    """Options that are for --heal only."""
    for option in reversed(
        [
            click.option(
                "--heal",
                is_flag=True,
                help="Heal by rules: nodes and destination databases (a tree only).",
            ),
            click.option(
                "--database",
                "databases",
                multiple=True,
                metavar="URL",
                help="With --heal: sqlite:PATH or postgresql://…, several times.  [default: two of SQLite]",
                **advanced("healing"),
            ),
            click.option(
                "--timer-ms",
                type=click.FloatRange(1.0),
                default=30.0,
                show_default=True,
                metavar="MS",
                help="With --heal: a broker that does not answer for this long is suspected.",
                **advanced("healing"),
            ),
            click.option(
                "--adaptive",
                is_flag=True,
                help="With --heal: a longer timer for slow brokers.",
                **advanced("healing"),
            ),
            click.option(
                "--removals",
                type=click.IntRange(0),
                default=8,
                show_default=True,
                metavar="N",
                help="With --heal: brokers that may be removed within a minute.",
                **advanced("healing"),
            ),
            click.option(
                "--demand",
                type=click.Path(path_type=Path),
                metavar="FILE",
                help="With --heal: traffic classes; a dead broker's neighbours are joined at the least cost.",
                **advanced("healing"),
            ),
        ]
    ):
        command = option(command)
    return command


def check_options(file: Topology, options: Mapping[str, Any]) -> None:
    if not options["heal"]:
        if options["databases"] or options["demand"] or options["adaptive"]:
            raise click.UsageError("--database, --demand and --adaptive are for --heal")
        return
    if file.kind != "tree":
        raise BadInput("--heal", "is for trees: in a mesh, fewer than k failures need no repair")
    if options["no_agents"] or options["spare"]:
        raise click.UsageError("--heal has agents in its nodes, and adds brokers by itself")


class HealingOverlay:
    """The running nodes, with the interface of the other overlays. Calls `changed` after one was added."""

    def __init__(self, topology: Topology, nodes: "NodeProcesses", coord: "Coord", layout: "Layout") -> None:
        self.topology = topology
        self.nodes = nodes
        self.changed: Callable[[], None] = lambda: None
        self._coord, self._layout = coord, layout
        self._watched = set(topology.ids)
        """Brokers for which a task runs `ended`."""
        self._started: dict[str, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self.failed: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        """Raises what has ended one of the tasks here, such as a restart that is impossible."""

    async def __aenter__(self) -> "HealingOverlay":
        self._run_task(self._follow_wanted())
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _run_task(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_ended)

    def _task_ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None and not self.failed.done():
            self.failed.set_exception(fault)

    @property
    def addresses(self) -> dict[str, tuple[str, int]]:
        return self.nodes.addresses

    @property
    def metrics(self) -> dict[str, tuple[str, int] | None]:
        return self.nodes.metrics

    @property
    def running(self) -> Any:
        return self.nodes.running

    async def ended(self, id: str) -> str:
        """Restarts the node whenever it ends; if its broker is out of service, when it is wanted again. Never
        returns, and raises what makes a restart impossible."""
        while True:
            if id in self.nodes.running:
                how = await self.nodes.ended(id)
                self._started_event(id).clear()
                if not await self._is_out(id):
                    click.echo(f"node {id} has ended ({how}), and is started again", err=True)
                    await asyncio.sleep(AGAIN_SECONDS)
                    await self.nodes.restart(id)
                    continue
            click.echo(f"broker {id} is out of service; {BACK.format(id)} brings it back", err=True)
            await self._started_event(id).wait()

    def _started_event(self, id: str) -> asyncio.Event:
        return self._started.setdefault(id, asyncio.Event())

    async def _is_out(self, id: str) -> bool:
        from regraft.coord import CoordError
        from regraft.node.healing.in_service import out_of_service

        while True:
            with contextlib.suppress(CoordError):
                return id in await out_of_service(self._coord, self._layout)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _follow_wanted(self) -> None:
        from regraft.coord import CoordError
        from regraft.node.healing.in_service import wanted

        while True:
            with contextlib.suppress(CoordError):
                async for id, beside in wanted(self._coord, self._layout):
                    try:
                        await self._start(id, beside)
                    except CoordError:
                        raise
                    except RegraftError as fault:
                        click.echo(f"broker {id} cannot be started: {fault}", err=True)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _start(self, id: str, beside: tuple[str, ...]) -> None:
        from regraft.node.healing.in_service import reinstate

        await reinstate(self._coord, self._layout, id)
        await self.nodes.start(id, beside)
        self._started_event(id).set()
        if id not in self._watched:
            self._watched.add(id)
            self._run_task(self.ended(id))
        self._run_task(self._announce(id))

    async def _announce(self, id: str) -> None:
        from regraft.coord.typed import read
        from regraft.deploy.journal import topology_of
        from regraft.deploy.records import Current

        with contextlib.suppress(RegraftError):
            await self.nodes.joined(id)
            stored = await read(self._coord, self._layout.topology, Current)
            if stored is not None:
                self.topology = topology_of(stored.value)
                self.changed()


async def start_healing(
    running: AsyncExitStack,
    topology: Topology,
    coord: "Coord",
    configure: Configure,
    options: Mapping[str, Any],
) -> HealingOverlay:
    from regraft.node.healing.in_service import out_of_service
    from regraft.node.healing.processes import (
        DatabaseProcesses,
        NodeProcesses,
        put_paper_rules,
        sqlite_stores,
    )

    layout = options["zookeeper"].layout
    stores = list(options["databases"])
    if not stores:
        folder = _folder(running, options["state"])
        stores = sqlite_stores(folder, 2)
    await running.enter_async_context(DatabaseProcesses(stores, coord.configuration, layout))
    await put_paper_rules(coord, layout)
    token = secrets.token_urlsafe(16)
    out = await out_of_service(coord, layout)
    there = [id for id in topology.ids if id not in out]
    nodes = NodeProcesses(there, lambda id: _settings(id, coord, configure, token, options))
    await running.enter_async_context(nodes)
    return await running.enter_async_context(HealingOverlay(topology, nodes, coord, layout))


def _folder(running: AsyncExitStack, state: Path | None) -> Path:
    if state is None:
        from regraft.coord.temporary import TemporaryFolder

        return running.enter_context(TemporaryFolder("databases"))
    make_folder(state / "databases")
    return state / "databases"


def _settings(
    id: str, coord: "Coord", configure: Configure, token: str, options: Mapping[str, Any]
) -> "NodeSettings":
    from regraft.heal.detection import DetectionTiming
    from regraft.heal.limits import RemovalLimits
    from regraft.node.healing.settings import NodeSettings, reaching

    timer = options["timer_ms"] / 1000
    return NodeSettings(
        configure(id, ()),
        reaching(coord.configuration, options["zookeeper"].layout),
        token=token,
        timing=DetectionTiming(timer=timer, adaptive=options["adaptive"], longest=max(2.0, timer)),
        removals=RemovalLimits(removals=options["removals"]),
        traffic=options["demand"],
    )
