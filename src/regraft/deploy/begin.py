"""Checks before a run begins: is this plan for the running overlay, and may it be carried out now (IPITT
§IV-C)?

Every refusal is a `BadInput` of one line, and leaves everything as it was.
"""

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from regraft.coord import Coord, Corrupt, Lease, Stored
from regraft.coord.layout import Layout
from regraft.coord.typed import read
from regraft.deploy.journal import (
    changes_made,
    deployer_of,
    doings_of,
    expanded,
    read_required,
    topology_of,
    write_run,
)
from regraft.deploy.records import Current, Run, run_number
from regraft.deploy.states import RunState
from regraft.model import BadInput, BrokenPlan, Plan, Topology
from regraft.model.changes import taken_back

MOST_AT_ONCE = 400
"""How many changes one transaction of ZooKeeper can begin, with the commands of all participants."""
Verify = Callable[[Plan, Topology, Topology], None]
"""Replays a plan from a topology to its goal, or raises `BrokenPlan`. Callers pass `plan.verify`, because
`deploy` must not import `plan`."""
PER_BROKER = 1
"""Several changes at one broker wait for each other's tables: they take as long, and buffer for longer."""


@dataclass(frozen=True)
class RunSettings:
    """How carefully a run proceeds. A count of 0 means no limit, unless it says otherwise."""

    seconds: float = 10.0
    """How long a change may take to be ready."""
    attempts: int = 3
    at_once: int = 0
    """Changes at a time, in the whole overlay; `per_broker`: at one broker."""
    per_broker: int = PER_BROKER
    queue_bytes: int = 0
    """No change begins at a broker that holds more bytes."""
    latency_ms: float = 0.0
    """No change begins while canaries take longer."""
    canaries: int = 3
    """Subscribers that audit the run; 0: none."""
    token: str = ""
    """The token with which the canaries connect."""
    gives_way: bool = False
    """Healing may stop the run."""


async def checked_topology(coord: Coord, layout: Layout, plan: Plan, verify: Verify) -> Current:
    """The current topology, if the plan can begin with it; otherwise `BadInput`."""
    try:
        stored = await read(coord, layout.topology, Current)
        run = await read(coord, layout.plan, Run)
    except Corrupt as fault:
        raise BadInput("", str(fault)) from None
    if stored is None:
        raise BadInput(layout.topology, "there is no topology: no overlay has been started here")
    current = stored.value
    if run is not None:
        _check_free(run.value, await deployer_of(coord, layout))
    _check_plan(plan, current, verify)
    await check_agents(coord, layout, (name for step in plan.steps for each in step for name in each.brokers))
    return current


def _check_free(run: Run, deployer: str) -> None:
    """A run that was interrupted while it was written has changed nothing: a new run may replace it."""
    if run.state == RunState.RUNNING or (run.state == RunState.BEGINNING and run.back):
        what = "is being taken back" if run.back else "is under way"
        at = f"step {run.step} of {len(run.steps)}"
        who = f"the {deployer} works on it" if deployer else "continue with --resume or --rollback"
        raise BadInput(f"run {run.id}", f"{what} ({at}): {who}")


def _check_plan(plan: Plan, current: Current, verify: Verify) -> None:
    now = topology_of(current)
    joining = {each.brokers[0] for step in plan.steps for each in step if each.operation == "append"}
    for number, step in enumerate(plan.steps, 1):
        for action in step:
            for name in action.brokers:
                if name not in now.neighbours and name not in joining:
                    raise BadInput(f"step {number}, {action}", f"there is no broker {name!r}")
    if plan.kind != now.kind:
        raise BadInput("kind", f"is {plan.kind}, and the overlay is a {now.kind}")
    if plan.initial != now.sha256:
        moved = f"the current one is {now.sha256[:12]} (epoch {current.epoch})"
        raise BadInput(
            "initial", f"the plan starts from topology {plan.initial[:12]}, and {moved}: make a new plan"
        )
    goal = goal_of(plan, current)
    if goal.sha256 != plan.goal:
        raise BadInput("goal", f"the steps lead to topology {goal.sha256[:12]}, not {plan.goal[:12]}")
    try:
        verify(plan, now, goal)
    except BrokenPlan as fault:
        raise BadInput("", f"the plan does not verify: {fault}") from None


def goal_of(plan: Plan, current: Current) -> Topology:
    """Where the steps lead; `BadInput` if one does not fit."""
    return topology_of(expanded(run_of(plan, current), current)[1])


async def check_agents(coord: Coord, layout: Layout, brokers: Iterable[str]) -> None:
    missing = [repr(name) for name in sorted(set(brokers)) if await coord.get(layout.alive(name)) is None]
    if missing:
        more = f" and {len(missing) - 3} others" if len(missing) > 3 else ""
        raise BadInput("agents", f"none runs for broker {', '.join(missing[:3])}{more}")


def run_of(
    plan: Plan,
    current: Current,
    settings: RunSettings = RunSettings(),  # noqa: B008 — a frozen value
    number: int = 0,
) -> Run:
    """`number` must be higher than that of any earlier run: callers use the token of the lease."""
    return Run(
        id=f"{number}-{secrets.token_hex(4)}",
        sha256=plan.sha256,
        kind=plan.kind,
        steps=[[(each.operation, *each.brokers) for each in step] for step in plan.steps],
        epoch=current.epoch,
        seconds=settings.seconds,
        attempts=settings.attempts,
        at_once=min(settings.at_once or MOST_AT_ONCE, MOST_AT_ONCE),
        per_broker=settings.per_broker,
        gives_way=settings.gives_way,
    )


async def begin_rollback(coord: Coord, layout: Layout, lease: Lease, run: Run) -> Run:
    """Write a run that undoes what this run, which has ended, has done."""
    current = (await read_required(coord, layout.topology, Current)).value
    done = [[changes_made(doing) for doing in step] for step in await doings_of(coord, layout, run)]
    count = sum(len(changes) for step in done for changes in step)
    if current.epoch != run.epoch + count:
        raise BadInput(f"run {run.id}", "the topology has changed since: it cannot be taken back any more")
    back = Run(
        id=f"{run_number(run.id) + 1}-{secrets.token_hex(4)}",
        sha256=run.sha256,
        kind=run.kind,
        steps=taken_back(done),
        back=True,
        epoch=current.epoch,
        seconds=run.seconds,
        attempts=run.attempts,
        at_once=run.at_once,
        per_broker=run.per_broker,
    )
    await write_run(coord, layout, lease, back, current)
    return back


async def run_in_journal(coord: Coord, layout: Layout) -> Stored[Run]:
    """The run in the journal; `BadInput` if there is none, or it cannot be read."""
    try:
        run = await read(coord, layout.plan, Run)
    except Corrupt as fault:
        raise BadInput("", str(fault)) from None
    if run is None:
        raise BadInput(layout.plan, "there is no run")
    return run
