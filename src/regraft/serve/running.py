"""`running_service(configuration, estate)` builds all objects of the loop, and ends them again."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict

import msgspec

from regraft.estate.protocol import Estate
from regraft.loop.goals import Limits
from regraft.loop.state import State, first_state
from regraft.model import Limits as PlanLimits
from regraft.serve import views as v
from regraft.serve.adaptations import Adaptations
from regraft.serve.commands import CommandRunner
from regraft.serve.configuration import ServeConfiguration
from regraft.serve.designing import TopologyDesigner
from regraft.serve.history import History
from regraft.serve.network_facts import NetworkFacts
from regraft.serve.overlay_views import OverlayViews
from regraft.serve.runtime import Runtime
from regraft.serve.service import Service
from regraft.serve.store import Store

STATE = "state.sqlite"


@asynccontextmanager
async def running_service(configuration: ServeConfiguration, estate: Estate) -> AsyncIterator[Service]:
    """The loop runs inside the `async with`. `BadInput` if it cannot begin; then nothing was changed."""
    designer = designer_of(configuration)
    store = Store(configuration.state.folder / STATE)
    try:
        history = History(store)
        if last := store.documents("window", v.SnapshotView, 1):
            designer.network.typical_ms = last[0].typical_ms
        runner = CommandRunner(estate, designer, history)
        state = state_of(configuration, store)
        runtime = Runtime(configuration.overlay.name, state, runner, store, history, configuration.state.keep)
        adaptations = Adaptations(estate)
        service = Service(runtime, store, history, OverlayViews(estate, designer), adaptations)
        async with _running(runtime, runner, adaptations):
            yield service
    finally:
        store.close()


@asynccontextmanager
async def _running(runtime: Runtime, runner: CommandRunner, adaptations: Adaptations) -> AsyncIterator[None]:
    """A fault of the runtime cancels the task inside the `async with`, and is raised there."""
    inside = asyncio.current_task()
    running = asyncio.create_task(runtime.run())
    following = asyncio.create_task(adaptations.follow(runtime.stream))
    faults: list[BaseException] = []

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (fault := task.exception()) is not None and inside is not None:
            faults.append(fault)
            inside.cancel()

    running.add_done_callback(ended)
    try:
        await runtime.ready.wait()
        yield
    except asyncio.CancelledError:
        if faults:
            raise faults[0] from None
        raise
    finally:
        following.cancel()
        running.cancel()
        await asyncio.gather(following, running, return_exceptions=True)
        await runtime.close()
        runner.close()


def designer_of(configuration: ServeConfiguration) -> TopologyDesigner:
    design, goals, plan = configuration.design, configuration.goals, configuration.plan
    plan_limits = PlanLimits(minimise=plan.minimise, max_degree=goals.max_degree, time_limit=plan.time_limit)
    return TopologyDesigner(
        NetworkFacts.of(configuration.overlay.network, measures=design.costs == "measured"),
        Limits(**asdict(goals)),
        configuration.policy,
        plan_limits,
        plan.planner,
        design.tree,
        design.mesh,
        design.alpha,
        design.beta,
        design.time_limit,
        configuration.loop.design_for,
    )


def state_of(configuration: ServeConfiguration, store: Store) -> State:
    """The state that the previous process has left, with the current policy.

    A mode that somebody has set stays, unless the mode in the file was changed since.
    """
    known, mode = store.state(), configuration.loop.mode
    if known is None:
        return first_state(configuration.policy, mode, time.time())
    holds = known.mode if known.configured == mode else mode
    return msgspec.structs.replace(known, policy=configuration.policy, mode=holds, configured=mode)
