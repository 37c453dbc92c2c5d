"""`running_service(configuration)`: all objects of `regraft serve`, put together and taken apart again."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from regraft.app.adaptations import Adaptations
from regraft.app.configuration import Configuration
from regraft.app.ledger import Ledger
from regraft.app.measuring import Measurer
from regraft.app.network import Network
from regraft.app.overlay import Known, RunningOverlay
from regraft.app.overlay_views import OverlayViews
from regraft.app.service import Service
from regraft.app.shell import Shell
from regraft.app.store import Store
from regraft.app.thinking import Thinker
from regraft.app.workloads import TABLES as ALL_TABLES
from regraft.app.workloads import TREE_TABLES
from regraft.app.works import Works
from regraft.app.zookeeper import ensemble
from regraft.loop.state import State, first_state

STATE = "state.sqlite"
TABLES = "tables"


@asynccontextmanager
async def running_service(
    configuration: Configuration, measurer: Measurer | None = None
) -> AsyncIterator[Service]:
    """The loop runs while this is entered. `BadInput` if it can not begin; then nothing has been touched."""
    thinker = thinker_of(configuration)
    where, layout = ensemble(configuration.zookeeper, configuration.overlay)
    async with RunningOverlay.connected(where, layout) as overlay:
        store = Store(configuration.state / STATE)
        try:
            ledger = Ledger(store)
            works = Works(
                overlay,
                measurer or measurer_of(configuration, overlay.known),
                thinker,
                configuration.deploy,
                ledger,
                configuration.spark.time_limit,
            )
            state = state_of(configuration, store)
            shell = Shell(configuration.overlay.name, state, works, store, ledger, configuration.keep)
            adaptations = Adaptations(overlay.coord, layout)
            service = Service(shell, store, ledger, OverlayViews(overlay, thinker), adaptations)
            async with _running(shell, works, adaptations):
                yield service
        finally:
            store.close()


@asynccontextmanager
async def _running(shell: Shell, works: Works, adaptations: Adaptations) -> AsyncIterator[None]:
    """A fault of the shell itself ends whoever waits inside."""
    inside = asyncio.current_task()
    running = asyncio.create_task(shell.run())
    following = asyncio.create_task(adaptations.follow(shell.stream))
    faults: list[BaseException] = []

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (fault := task.exception()) is not None and inside is not None:
            faults.append(fault)
            inside.cancel()

    running.add_done_callback(ended)
    try:
        await shell.ready.wait()
        yield
    except asyncio.CancelledError:
        if faults:
            raise faults[0] from None
        raise
    finally:
        following.cancel()
        running.cancel()
        await asyncio.gather(following, running, return_exceptions=True)
        await shell.close()
        works.close()


def thinker_of(configuration: Configuration) -> Thinker:
    design = configuration.design
    return Thinker(
        Network.of(configuration.overlay.network),
        configuration.goals,
        configuration.policy,
        configuration.plan,
        configuration.planner,
        design.tree,
        design.mesh,
        design.alpha,
        design.beta,
        design.time_limit,
    )


def measurer_of(configuration: Configuration, known: Known | None) -> Measurer:
    is_tree = known is not None and known.topology.kind == "tree"
    return Measurer(
        configuration.telemetry,
        configuration.spark,
        configuration.state / TABLES,
        configuration.policy.window_seconds,
        configuration.least_free,
        tables=TREE_TABLES if is_tree else ALL_TABLES,
        windows=configuration.windows,
    )


def state_of(configuration: Configuration, store: Store) -> State:
    """Where the process before was, with the policy of now.

    A mode that somebody has set meanwhile holds, unless the file has another one than before.
    """
    known, mode = store.state(), configuration.mode
    if known is None:
        return first_state(configuration.policy, mode, time.time())
    holds = known.mode if known.configured == mode else mode
    return msgspec.structs.replace(known, policy=configuration.policy, mode=holds, configured=mode)
