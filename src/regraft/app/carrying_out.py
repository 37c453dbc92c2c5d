"""Runs on the overlay: begun, resumed, taken back; and what became of them, for the loop."""

from regraft.app.overlay import RunningOverlay
from regraft.deploy.begin import Settings, run_in_journal
from regraft.deploy.control import ask
from regraft.deploy.deployer import Tell
from regraft.deploy.execute import execute, resume, roll_back
from regraft.deploy.journal import BEGINNING, deployer_of
from regraft.deploy.records import DONE, ROLL_BACK, RUNNING, STOP, Run
from regraft.loop.values import Ended
from regraft.model import BadInput, Limits, Plan, Topology
from regraft.model.limits import TREE_OPERATIONS
from regraft.model.outcome import Outcome
from regraft.plan.verify import verify as replay


def verify(plan: Plan, current: Topology, goal: Topology) -> None:
    """With every operation: which of them the planner was allowed is not the deployer's business."""
    replay(plan, current, goal, Limits(operations=frozenset(TREE_OPERATIONS)))


async def carry_out(overlay: RunningOverlay, plan: Plan, settings: Settings, tell: Tell) -> Outcome:
    return await execute(plan, overlay.coord, overlay.layout, verify, settings, tell)


async def take_back(overlay: RunningOverlay, settings: Settings, tell: Tell) -> Outcome:
    return await roll_back(overlay.coord, overlay.layout, settings, tell)


async def interrupted(overlay: RunningOverlay) -> str | None:
    """sha256 of the plan of a run in the journal that has not ended, and that nobody is at."""
    run = await run_of_journal(overlay)
    if run is None or run.state not in (RUNNING, BEGINNING):
        return None
    return None if await deployer_of(overlay.coord, overlay.layout) else run.sha256


async def run_of_journal(overlay: RunningOverlay) -> Run | None:
    try:
        return (await run_in_journal(overlay.coord, overlay.layout)).value
    except BadInput:
        return None


async def go_on(
    overlay: RunningOverlay, plan: Plan | None, back: bool, settings: Settings, tell: Tell
) -> Outcome | Ended:
    """The interrupted run to its end; if it has ended meanwhile, how; `BadInput` if it never began."""
    run = await run_of_journal(overlay)
    if run is None or (plan is not None and run.sha256 != plan.sha256):
        raise BadInput("", "the run had not begun when it was interrupted")
    if run.state in (RUNNING, BEGINNING):
        return await resume(overlay.coord, overlay.layout, settings, tell, plan)
    if back and not run.back:
        return await take_back(overlay, settings, tell)
    known = await overlay.refresh()
    reached = run.state == DONE and (run.back or plan is None or known.topology.sha256 == plan.goal)
    return Ended(
        run=run.id,
        state=run.state,
        reason=run.reason,
        back=run.back,
        reached=reached,
        epoch=known.epoch,
        topology=known.topology.sha256,
        actions=sum(map(len, run.steps)),
    )


async def stop(overlay: RunningOverlay, *, back: bool) -> None:
    """The run under way, wherever it is."""
    await ask(overlay.coord, overlay.layout, ROLL_BACK if back else STOP)


def ended(outcome: Outcome, before: Topology | None) -> Ended:
    """What the loop is told of an outcome."""
    old = set(before.by_ends) if before is not None else set(outcome.topology.by_ends)
    new = set(outcome.topology.by_ends)
    seen = outcome.canaries
    return Ended(
        run=outcome.run,
        state=outcome.state,
        reason=outcome.reason,
        back=outcome.back,
        reached=outcome.goal,
        epoch=outcome.epoch,
        topology=outcome.topology.sha256,
        actions=sum(action.state == DONE for action in outcome.actions),
        added=tuple(sorted(new - old)),
        removed=tuple(sorted(old - new)),
        seconds=outcome.seconds,
        lost=seen.lost if seen else None,
        duplicated=seen.duplicated if seen else None,
        reordered=seen.reordered if seen else None,
    )
