"""The entry points of the package: carry out a plan, resume a run, roll one back. Each returns an Outcome."""

import time
from contextlib import AsyncExitStack

from regraft.coord import Coord, Lease
from regraft.coord.layout import Layout
from regraft.coord.typed import read
from regraft.deploy.begin import RunSettings, Verify, checked_topology, run_in_journal, run_of
from regraft.deploy.canaries import Canaries, canary_places
from regraft.deploy.control import deployer_lease, order_resume, order_rollback
from regraft.deploy.deployer import Execution, Progress, Tell
from regraft.deploy.deployer_core import Budget
from regraft.deploy.journal import doings_of, read_required, topology_of, write_run
from regraft.deploy.records import Current, Doing, Run, Status
from regraft.deploy.states import RunState
from regraft.model import BadInput, Plan, RegraftError
from regraft.model.outcome import ActionOutcome, CanaryOutcome, Outcome, StepOutcome

TAKING_OVER = 1.5
"""How long to wait for the lease of a deployer that was killed, in timeouts of a session."""


async def execute(
    plan: Plan,
    coord: Coord,
    layout: Layout,
    verify: Verify,
    settings: RunSettings = RunSettings(),  # noqa: B008 — a frozen value
    tell: Tell = lambda progress: None,
) -> Outcome:
    """Carry out the plan on the running overlay; `BadInput`, with nothing changed, if it cannot begin."""
    await checked_topology(coord, layout, plan, verify)
    async with await deployer_lease(coord, layout) as held:
        # Again: from here on, under the lease, no other deployer can change the topology.
        current = await checked_topology(coord, layout, plan, verify)
        await write_run(coord, layout, held, run_of(plan, current, settings, held.token), current)
        return await _carried_out(coord, layout, held, settings, tell, plan.goal)


async def resume(
    coord: Coord,
    layout: Layout,
    settings: RunSettings,
    tell: Tell = lambda progress: None,
    plan: Plan | None = None,
) -> Outcome:
    """Continue the run in the journal from where it is."""
    return await _continued(coord, layout, settings, tell, plan, back=False)


async def roll_back(
    coord: Coord,
    layout: Layout,
    settings: RunSettings,
    tell: Tell = lambda progress: None,
    plan: Plan | None = None,
) -> Outcome:
    """Undo what the run in the journal has done."""
    return await _continued(coord, layout, settings, tell, plan, back=True)


async def _continued(
    coord: Coord, layout: Layout, settings: RunSettings, tell: Tell, plan: Plan | None, *, back: bool
) -> Outcome:
    await _check_same(coord, layout, plan)
    async with await deployer_lease(coord, layout, wait=TAKING_OVER * coord.session_timeout) as held:
        order = order_rollback if back else order_resume
        await order(coord, layout, held, settings.attempts)
        return await _carried_out(coord, layout, held, settings, tell, plan.goal if plan else "")


async def _check_same(coord: Coord, layout: Layout, plan: Plan | None) -> None:
    run = (await run_in_journal(coord, layout)).value
    if plan is not None and plan.sha256 != run.sha256:
        raise BadInput(
            "sha256", f"the run {run.id} in the journal is of plan {run.sha256[:12]}, not of this one"
        )


async def _carried_out(
    coord: Coord, layout: Layout, held: Lease, settings: RunSettings, tell: Tell, goal: str
) -> Outcome:
    seen = _Queues(tell)
    started = time.monotonic()
    async with AsyncExitStack() as stack:
        canaries, why_not = await _canaries(coord, layout, settings, stack)

        def slow() -> bool:
            limit = settings.latency_ms
            return bool(limit) and canaries is not None and canaries.latency_ms() > limit

        execution = Execution(coord, layout, held, Budget(settings.queue_bytes), seen.told, slow)
        run = await execution.to_rest()
        seconds = time.monotonic() - started
    audited = canaries.outcome if canaries else None
    return await _outcome(coord, layout, run, seconds, seen, audited, why_not, goal)


async def _canaries(
    coord: Coord, layout: Layout, settings: RunSettings, stack: AsyncExitStack
) -> tuple[Canaries | None, str]:
    """Running canaries, or why there are none: a run does not wait for an audit that is not possible."""
    run = (await run_in_journal(coord, layout)).value
    current = (await read_required(coord, layout.topology, Current)).value
    if not settings.canaries:
        return None, "not wanted"
    if current.kind != "tree":
        return None, "only trees are audited with canaries"
    named = {name for step in run.steps for _, *names in step for name in names}
    coming_or_going = {names[0] for step in run.steps for op, *names in step if op in ("append", "detach")}
    staying = [name for name in current.brokers if name not in coming_or_going]
    chosen = canary_places(staying, [name for name in staying if name in named], settings.canaries)
    addresses = {}
    for name in chosen:
        status = await read(coord, layout.status(name), Status)
        if status is None or not status.value.port:
            return None, f"the agent of {name} does not say where its broker is"
        addresses[name] = (status.value.host, status.value.port)
    try:
        canaries = Canaries(run.id, addresses, chosen, token=settings.token)
        return await stack.enter_async_context(canaries), ""
    except (RegraftError, OSError) as fault:
        return None, str(fault)


class _Queues:
    """How many bytes the brokers held in each step: at its beginning, and at most."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self.of: dict[tuple[str, int], tuple[int, int]] = {}

    def told(self, progress: Progress) -> None:
        if progress.queues:
            key = (progress.run.id, progress.run.step)
            now = sum(progress.queues.values())
            first, most = self.of.get(key, (now, now))
            self.of[key] = (first, max(most, now))
        self._tell(progress)


async def _outcome(
    coord: Coord,
    layout: Layout,
    run: Run,
    seconds: float,
    queues: _Queues,
    audited: CanaryOutcome | None,
    why_not: str,
    goal: str,
) -> Outcome:
    current = (await read_required(coord, layout.topology, Current)).value
    steps = await doings_of(coord, layout, run)
    topology = topology_of(current)
    reached = run.state == RunState.DONE and (run.back or not goal or topology.sha256 == goal)
    return Outcome(
        run=run.id,
        plan=run.sha256,
        back=run.back,
        state=run.state,
        reason=run.reason,
        seconds=seconds,
        steps=tuple(_step(n, doings, queues.of.get((run.id, n))) for n, doings in enumerate(steps, 1)),
        actions=tuple(_action(n, doing) for n, doings in enumerate(steps, 1) for doing in doings),
        canaries=audited,
        no_canaries=why_not,
        epoch=current.epoch,
        topology=topology,
        goal=reached,
    )


def _step(number: int, doings: list[Doing], queues: tuple[int, int] | None) -> StepOutcome:
    over = all(doing.ended for doing in doings)
    seconds = max(each.ended for each in doings) - min(each.begun for each in doings) if over else None
    first, most = queues or (None, None)
    return StepOutcome(number, len(doings), seconds and round(seconds, 6), first, most)


def _action(step: int, doing: Doing) -> ActionOutcome:
    return ActionOutcome(
        step=step,
        action=doing.action,
        changes=len(doing.changes),
        state=doing.state,
        attempts=doing.attempt,
        begun=doing.begun or None,
        seconds=round(doing.ended - doing.begun, 6) if doing.ended else None,
        reason=doing.reason,
    )
