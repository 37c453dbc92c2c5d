"""The course of the demo: a window of traffic, a better topology from the loop, a crash, healing, the count.

If the loop finds nothing better, or the crash is not healed in time, the demo fails and says so.
"""

import asyncio
import time
from typing import Any

from regraft.demo import story as s
from regraft.demo.crash import crash
from regraft.demo.running import Options, Scene
from regraft.demo.stage import Stage
from regraft.demo.tally import Counts
from regraft.model import RegraftError
from regraft.serve import views as v
from regraft.serve.service import Service

POLL_SECONDS = 0.1
CHANGED_SECONDS = 180.0
"""For the loop to propose a change and to carry it out."""
VERIFIED_SECONDS = 40.0
"""For the first whole window on the new topology to be measured; if it takes longer, the demo continues."""
COUNTED_SECONDS = 210.0
"""For the clients to count."""
IDLE_SECONDS = 15.0
"""For the loop to become idle at the end."""
FIRST_SECONDS = 1.0
"""Of the traffic, which are not judged: caches are cold and connections new."""


async def show(seen: Scene, options: Options, started: float) -> s.Story:
    """Plays the demo inside the block of `running`. `started`: when the demo began, by `time.monotonic`."""
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
    counts = await _counted(stage)
    await _idle(service)
    change = await _change(service, operation, proposal.sha256, shifted)
    assert operation.ended is not None
    costs = (change.costs[0], max(change.costs), change.costs[-1])
    periods = (
        s.period("before", stage.samples, began + FIRST_SECONDS, operation.began, costs[0]),
        s.period("during", stage.samples, operation.began, operation.ended, costs[1]),
        s.period("after", stage.samples, operation.ended, killed, costs[2]),
        s.period("healing", stage.samples, killed, healed),
        s.period("healed", stage.samples, healed, ended),
    )
    return s.Story(
        began=began,
        seconds=time.monotonic() - started,
        brokers=len(seen.tree.ids),
        publishers=len(seen.work.rates),
        subscribers=len(seen.work.wants),
        rate=seen.work.rate,
        counts=counts,
        periods=periods,
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
    """Waits until the loop has carried out a change: it, its proposal, and when its first shift began."""
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
    try:
        async with asyncio.timeout(COUNTED_SECONDS):
            while stage.counts is None:
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise RegraftError("the clients do not count") from None
    return Counts(**stage.counts)


async def _idle(service: Service) -> None:
    """Waits for what Spark is doing, rather than stopping Spark under it; not longer than `IDLE_SECONDS`."""
    deadline = time.monotonic() + IDLE_SECONDS
    while service.state().phase != "waiting" and time.monotonic() < deadline:
        await asyncio.sleep(POLL_SECONDS)


async def _change(service: Service, operation: v.OperationView, sha256: str, shifted: float) -> s.CarriedOut:
    proposal, plan = service.proposal(sha256), await service.plan(sha256)
    if isinstance(proposal, v.Refused) or isinstance(plan, v.Refused):
        raise RegraftError("the plan that was carried out is not known")
    window = service.snapshot(proposal.window or "")
    audit = next(run for run in service.series().runs if run.run == operation.run)
    if isinstance(window, v.Refused) or operation.ended is None:
        raise RegraftError("the window that the plan was made from is not known")
    costs = [(step.numbers.get("routing_cost") or 0.0) / window.publications for step in plan.steps]
    return s.CarriedOut(
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
