"""Runs on our own network: carry out, finish, take back; and their progress as the loop is told it."""

from regraft.deploy.begin import RunSettings, run_in_journal
from regraft.deploy.deployer import Progress, Tell
from regraft.deploy.execute import execute, resume, roll_back
from regraft.deploy.journal import deployer_of
from regraft.deploy.records import Run
from regraft.deploy.states import ActionState, RunOrder, RunState
from regraft.estate.protocol import RunProgress, TellProgress
from regraft.estate.regraft.overlay import RunningOverlay
from regraft.loop.values import Ended
from regraft.model import BadInput, Limits, Plan, Topology
from regraft.model.limits import TREE_OPERATIONS
from regraft.model.outcome import Outcome
from regraft.plan.verify import verify as replay


def verify(plan: Plan, current: Topology, goal: Topology) -> None:
    """Replay the plan with all operations allowed: only planners are limited to some of them."""
    replay(plan, current, goal, Limits(operations=frozenset(TREE_OPERATIONS)))


async def carry_out(overlay: RunningOverlay, plan: Plan, settings: RunSettings, tell: Tell) -> Outcome:
    return await execute(plan, overlay.coord, overlay.layout, verify, settings, tell)


async def take_back(overlay: RunningOverlay, settings: RunSettings, tell: Tell) -> Outcome:
    return await roll_back(overlay.coord, overlay.layout, settings, tell)


async def interrupted(overlay: RunningOverlay) -> str | None:
    """sha256 of the plan of a run in the journal that has not ended and that no deployer carries out."""
    run = await run_of_journal(overlay)
    if run is None or run.state not in (RunState.RUNNING, RunState.BEGINNING):
        return None
    return None if await deployer_of(overlay.coord, overlay.layout) else run.sha256


async def run_of_journal(overlay: RunningOverlay) -> Run | None:
    try:
        return (await run_in_journal(overlay.coord, overlay.layout)).value
    except BadInput:
        return None


async def finish_interrupted(
    overlay: RunningOverlay, plan: Plan | None, back: bool, settings: RunSettings, tell: Tell
) -> Outcome | Ended:
    """Carry the interrupted run to its end, or report how it has ended; `BadInput` if it never began."""
    run = await run_of_journal(overlay)
    if run is None or (plan is not None and run.sha256 != plan.sha256):
        raise BadInput("", "the run had not begun when it was interrupted")
    if run.state in (RunState.RUNNING, RunState.BEGINNING):
        return await resume(overlay.coord, overlay.layout, settings, tell, plan)
    if back and not run.back:
        return await take_back(overlay, settings, tell)
    known = await overlay.refresh()
    led_there = run.back or plan is None or known.topology.sha256 == plan.goal
    reached = run.state == RunState.DONE and led_there
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


def telling(tell: TellProgress) -> Tell:
    return lambda progress: tell(run_progress(progress))


def run_progress(progress: Progress) -> RunProgress:
    run = progress.run
    finished = sum(len(actions) for actions in run.steps[: run.step - 1])
    finished += sum(doing.state == ActionState.DONE for doing in progress.actions.values())
    return RunProgress(
        run=run.id,
        step=run.step,
        steps=len(run.steps),
        actions=sum(map(len, run.steps)),
        actions_done=finished,
        paused=run.wanted == RunOrder.PAUSE,
    )
