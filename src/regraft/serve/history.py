"""What the loop has proposed, carried out and measured, as documents that people look at."""

import secrets
from typing import Any

import msgspec

from regraft.estate.windows import MeasuredWindow, WindowAndCounts
from regraft.loop.commands import Propose, Settle
from regraft.loop.goals import Verdict
from regraft.loop.judging import Comparison
from regraft.loop.proposing import WITHIN_LIMITS
from regraft.loop.values import Candidate, Ended, Proposal, Running
from regraft.model import Plan, Topology
from regraft.model.outcome import Outcome
from regraft.serve import views as v
from regraft.serve.designing import Assessed
from regraft.serve.store import Document, Store

HOUR = 3600.0


class PlanDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A plan as its file has it, the topology that it starts from, and the window it was made in."""

    document: dict[str, Any]
    brokers: list[str]
    links: list[tuple[str, str]]
    kind: str
    window: str | None
    start: float | None = None
    end: float | None = None


class History:
    """Reads and makes documents. The runtime writes them, in one transaction with the state of the loop."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def proposed(
        self, command: Propose, at: float, seconds: float, numbers: dict[str, Any], confirm: int
    ) -> Document:
        """`confirm`: how many windows the loop asks for before it makes a plan."""
        view = proposal_view(command.proposal, at, seconds, numbers, confirm)
        return Document("proposal", view.sha256, view.made_at, view)

    def settled(
        self, command: Settle, at: float, operation: str | None, known: object = None
    ) -> Document | None:
        """`known`: the proposal as this step has changed it already, which is not stored yet."""
        known = known if isinstance(known, v.ProposalView) else self.proposal(command.plan)
        if known is None:
            return None
        fields: dict[str, Any] = {"state": command.state, "reason": command.reason, "changed_at": at}
        if command.state == "waiting":  # before, the plan was only shown
            fields["needs_approval"] = command.reason
        if operation is not None and command.state == "deploying":
            fields["operation"] = operation
        if command.measured_gain is not None:
            fields["measured_gain"] = command.measured_gain
        view = msgspec.structs.replace(known, **fields)
        return Document("proposal", view.sha256, view.made_at, view)

    def proposal(self, sha256: str) -> v.ProposalView | None:
        return self._store.document("proposal", sha256, v.ProposalView)

    def plan(self, sha256: str) -> PlanDocument | None:
        return self._store.document("plan", sha256, PlanDocument)

    def unfinished(self) -> v.OperationView | None:
        """The operation that was under way when the previous process ended."""
        found = self._store.documents("operation", v.OperationView, 20)
        return next((each for each in found if each.ended is None), None)


def new_operation(running: Running, at: float) -> v.OperationView:
    kind = "roll back" if running.plan is None else "heal" if running.cause == "healing" else "deploy"
    steps = running.proposal.planned.steps if running.proposal else 0
    return v.OperationView(
        id=f"op-{secrets.token_hex(5)}",
        kind=kind,  # type: ignore[arg-type]
        state="running",
        by=running.by,
        plan=running.plan,
        run=None,
        began=at,
        changed_at=at,
        ended=None,
        steps=steps,
        actions=running.actions,
    )


def operation_document(view: v.OperationView) -> Document:
    return Document("operation", view.id, view.began, view)


def ended_operation(
    view: v.OperationView, ended: Ended, outcome: Outcome | None, at: float
) -> v.OperationView:
    state = "done" if ended.reached else "stopped" if ended.state == "stopped" else "failed"
    return msgspec.structs.replace(
        view,
        state=state,
        run=ended.run,
        changed_at=at,
        ended=at,
        actions_done=ended.actions,
        step=view.steps if ended.reached else view.step,
        reason=ended.reason,
        outcome=outcome.as_json() if outcome is not None else None,
    )


def run_mark(operation: v.OperationView, ended: Ended, outcome: Outcome | None, cause: str) -> Document:
    seen = outcome.canaries if outcome is not None else None
    view = v.RunMark(
        run=ended.run,
        plan=operation.plan or (outcome.plan if outcome is not None else ""),
        began=operation.began,
        ended=operation.ended,
        state=ended.state,
        cause=cause,
        back=ended.back,
        actions=ended.actions,
        published=seen.published if seen else None,
        delivered=seen.delivered if seen else None,
        lost=ended.lost,
        duplicated=ended.duplicated,
        reordered=ended.reordered,
    )
    return Document("run", ended.run, view.began, view)


def plan_document(plan: Plan, topology: Topology, window: MeasuredWindow | None) -> PlanDocument:
    return PlanDocument(
        document=plan.as_json() | {"sha256": plan.sha256},
        brokers=list(topology.ids),
        links=sorted(topology.by_ends),
        kind=topology.kind,
        window=window.id if window else None,
        start=window.start if window else None,
        end=window.end if window else None,
    )


def proposal_view(
    proposal: Proposal,
    at: float,
    seconds: float,
    numbers: dict[str, dict[str, float | None]],
    confirm: int,
) -> v.ProposalView:
    planned, candidate = proposal.planned, proposal.candidate
    return v.ProposalView(
        sha256=planned.plan,
        state="would-propose" if proposal.observed else "waiting",
        reason=proposal.needs_approval or WITHIN_LIMITS,
        cause=proposal.cause,
        made_at=at,
        changed_at=at,
        window=candidate.window if candidate else None,
        windows=candidate.windows if candidate else 0,
        windows_needed=confirm,
        initial=planned.initial,
        goal=planned.goal,
        epoch=planned.epoch,
        planner=planned.planner,
        method=candidate.method if candidate else "repair",
        expects=candidate.comparison.expects if candidate else "",
        steps=planned.steps,
        actions=planned.actions,
        gain=candidate.comparison.gain if candidate else 0.0,
        gain_error=candidate.comparison.error if candidate else 0.0,
        improves=candidate.comparison.improves if candidate else None,
        needed_gain=proposal.needed_gain,
        saved_per_hour=_per_hour(candidate, seconds),
        price=proposal.price,
        pays_back_after=proposal.pays_back_after,
        needs_approval=proposal.needs_approval,
        outside_limits=proposal.outside_limits,
        numbers_before=numbers.get("before", {}),
        numbers_after=numbers.get("after", {}),
        verdicts=compared(candidate.comparison) if candidate else (),
    )


def _per_hour(candidate: Candidate | None, seconds: float) -> float:
    return candidate.saved / seconds * HOUR if candidate and seconds else 0.0


def compared(comparison: Comparison) -> tuple[v.VerdictView, ...]:
    """The verdicts on a candidate, each with the current topology's number beside it."""
    before = {verdict.goal: verdict.number for verdict in comparison.now}
    return tuple(verdict_view(verdict, before.get(verdict.goal)) for verdict in comparison.then)


def verdict_view(verdict: Verdict, before: float | None = None) -> v.VerdictView:
    return v.VerdictView(
        goal=verdict.goal,
        hard=verdict.hard,
        kept=verdict.kept,
        reason=verdict.reason,
        number=verdict.number,
        before=before,
        limit=verdict.limit,
    )


def snapshot_view(
    found: WindowAndCounts, at: float, seconds: float, typical_ms: float | None
) -> v.SnapshotView:
    window, counts, _ = found
    return v.SnapshotView(
        id=window.id,
        start=window.start,
        end=window.end,
        measured_at=at,
        seconds=seconds,
        publications=window.publications,
        deliveries=window.deliveries,
        records=counts.kept,
        rejected=counts.rejected,
        late=counts.late,
        duplicated=counts.duplicated,
        classes=len(window.workload.traffic),
        topics=window.topics,
        typical_ms=typical_ms,
        p50_ms=window.p50_ms,
        p99_ms=window.p99_ms,
        p999_ms=window.p999_ms,
        queue=window.queue,
    )


def judged_snapshot(
    view: v.SnapshotView, assessed: Assessed, epoch: int | None, topology: str
) -> v.SnapshotView:
    return msgspec.structs.replace(
        view,
        epoch=epoch,
        topology=topology,
        numbers=dict(assessed.seen.assessment.numbers),
        verdicts=tuple(verdict_view(each) for each in assessed.current.now),
    )


def snapshot_document(view: v.SnapshotView) -> Document:
    return Document("window", view.id, view.end, view)


def point(view: v.SnapshotView) -> v.Point:
    """The point of a window in a plot."""
    cost, seconds = view.numbers.get("routing_cost"), view.end - view.start
    per = cost / view.publications if cost is not None and view.publications else None
    return v.Point(
        at=view.end,
        routing_cost=cost,
        cost_per_publication=per,
        publications_per_second=view.publications / seconds,
        deliveries_per_second=view.deliveries / seconds,
        p50_ms=view.p50_ms,
        p99_ms=view.p99_ms,
        p999_ms=view.p999_ms,
        queue=view.queue,
        rejected=view.rejected,
        late=view.late,
        epoch=view.epoch,
    )
