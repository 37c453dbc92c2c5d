"""The running loop for REST, the dashboard and the command line: it implements `ServiceInterface`.

Requests for information never disturb the network: topology and brokers are answered from a reading that is
at most a few seconds old. Decisions (approve, reject, pause, roll back) go through the loop's own step, so
what the loop refuses is refused here, with the same reason.
"""

import time
from collections.abc import AsyncIterator, Mapping
from typing import Literal

from regraft.estate.protocol import Away
from regraft.loop import events as e
from regraft.loop.deploying import back_refusal
from regraft.loop.proposing import busy, refusal
from regraft.model import BadInput
from regraft.model.intents import Intent
from regraft.model.workload import Workload
from regraft.serve import views as v
from regraft.serve.adaptations import Adaptations
from regraft.serve.history import History, point
from regraft.serve.overlay_views import OverlayViews
from regraft.serve.previews import preview
from regraft.serve.runtime import Runtime
from regraft.serve.status import metrics
from regraft.serve.store import Store

MOST = 5000
"""How many points a plot has at most."""


class Service:
    """All methods are called on the event loop that runs the runtime."""

    def __init__(
        self,
        runtime: Runtime,
        store: Store,
        history: History,
        overlay: OverlayViews,
        adaptations: Adaptations,
    ) -> None:
        self._runtime = runtime
        self._store = store
        self._history = history
        self._overlay = overlay
        self._adaptations = adaptations

    def state(self) -> v.StateView:
        return self._runtime.view()

    def health(self) -> v.HealthView:
        state = self._runtime.state
        failing = {part: trouble.reason for part, trouble in state.troubles.items()}
        checks = {part: failing.get(part, "ok") for part in ("coordination", "measure", "disk", *failing)}
        if state.topology is None:
            checks["coordination"] = failing.get("coordination", "no topology is known yet")
        return v.HealthView(ok=True, ready=all(each == "ok" for each in checks.values()), checks=checks)

    def metrics(self) -> Mapping[str, tuple[str, str, float]]:
        run = self._runtime
        return metrics(run.state, run.snapshot, run.decided, run.read_records, run.steps, time.time())

    async def topology(self) -> v.TopologyView | v.Refused:
        return await self._overlay.topology(self._runtime.runner.windows)

    async def brokers(self) -> tuple[v.BrokerView, ...] | v.Refused:
        found = await self._overlay.topology(self._runtime.runner.windows)
        return found if isinstance(found, v.Refused) else self._overlay.brokers

    async def broker(self, id: str) -> v.BrokerView | v.Refused:
        found = await self.brokers()
        if isinstance(found, v.Refused):
            return found
        return next((each for each in found if each.id == id), _unknown(f"there is no broker {id!r}"))

    def snapshots(self, limit: int = 50, before: float | None = None) -> tuple[v.SnapshotView, ...]:
        end = float("inf") if before is None else before
        return self._store.documents("window", v.SnapshotView, limit, before=end)

    def snapshot(self, id: str) -> v.SnapshotView | v.Refused:
        found = self._store.document("window", id, v.SnapshotView)
        return found or _unknown(f"there is no window {id!r}")

    def series(self, since: float | None = None, until: float | None = None) -> v.SeriesView:
        start = float("-inf") if since is None else since
        end = float("inf") if until is None else until
        windows = self._store.documents("window", v.SnapshotView, MOST, start, end)
        runs = self._store.documents("run", v.RunMark, MOST, start, end)
        return v.SeriesView(points=tuple(map(point, reversed(windows))), runs=tuple(reversed(runs)))

    def proposals(self, limit: int = 50) -> tuple[v.ProposalView, ...]:
        return self._store.documents("proposal", v.ProposalView, limit)

    def proposal(self, sha256: str) -> v.ProposalView | v.Refused:
        return self._history.proposal(sha256) or _unknown(f"there is no proposal {sha256[:12]}")

    async def plan(self, sha256: str) -> v.PlanView | v.Refused:
        stored = self._history.plan(sha256)
        if stored is None:
            return _unknown(f"there is no plan {sha256[:12]}")
        runner = self._runtime.runner
        workload, seconds = Workload(), 1.0
        if stored.window is not None and stored.start is not None and stored.end is not None:
            try:
                found = await runner.window_of(stored.window, stored.start, stored.end)
                workload, seconds = found.workload, found.seconds
            except BadInput:  # the tables of the window are gone: the steps can be shown without costs
                pass
        return await runner.in_design_thread(preview, stored, workload, seconds, runner.designer)

    async def approve(self, sha256: str, by: str) -> v.OperationView | v.Refused:
        state = self._runtime.state
        no = refusal(state, sha256) or busy(state)  # before the step, which carries the plan out
        self._runtime.handle(e.Approved(at=time.time(), plan=sha256, by=by))
        if no is not None:
            return _refused(no)
        operation = self._runtime.operation
        if operation is None or operation.plan != sha256 or operation.state == "failed":
            return v.Refused(code="away", reason="the decision could not be written: is the disk full?")
        return operation

    def reject(self, sha256: str, reason: str, by: str) -> v.ProposalView | v.Refused:
        no = refusal(self._runtime.state, sha256)
        self._runtime.handle(e.Rejected(at=time.time(), plan=sha256, by=by, reason=reason))
        return _refused(no) if no is not None else self.proposal(sha256)

    async def roll_back(self, by: str) -> v.OperationView | v.Refused:
        if (no := back_refusal(self._runtime.state)) is not None:
            self._runtime.handle(e.BackAsked(at=time.time(), by=by))
            return _refused(no)
        try:
            run = await self._runtime.runner.estate.last_run()
        except Away as fault:
            return v.Refused(code="away", reason=str(fault))
        if run is None:
            return _unknown("there is no run to be taken back")
        if run.back and run.state == "done":
            return v.Refused(code="again", reason="the last run has been taken back already")
        self._runtime.handle(e.BackAsked(at=time.time(), by=by))
        operation = self._runtime.operation
        if operation is not None and operation.state == "failed":
            return v.Refused(code="away", reason=f"the run could not be taken back: {operation.reason}")
        return operation or v.Refused(code="busy", reason="the run could not be taken back")

    async def pause_run(self, by: str) -> v.OperationView | v.Refused:
        return await self._ask("pause", by)

    async def continue_run(self, by: str) -> v.OperationView | v.Refused:
        return await self._ask("run", by)

    async def stop_run(self, by: str) -> v.OperationView | v.Refused:
        return await self._ask("stop", by)

    async def _ask(self, wanted: Literal["stop", "pause", "run"], by: str) -> v.OperationView | v.Refused:
        operation = self._runtime.operation
        if operation is None or operation.ended is not None:
            return _unknown("nothing is being carried out")
        try:
            await self._runtime.runner.estate.ask(wanted)
        except BadInput as fault:
            return v.Refused(code="busy", reason=str(fault))
        except Away as fault:
            return v.Refused(code="away", reason=str(fault))
        self._runtime.handle(e.RunAsked(at=time.time(), wanted=wanted, by=by))
        return self._runtime.operation or operation

    def pause(self, reason: str, by: str) -> v.StateView | v.Refused:
        if self._runtime.state.paused is not None:
            return v.Refused(code="again", reason="it is paused already")
        self._runtime.handle(e.Paused(at=time.time(), by=by, reason=reason))
        return self.state()

    def resume(self, by: str) -> v.StateView | v.Refused:
        if self._runtime.state.paused is None:
            return v.Refused(code="again", reason="it is not paused")
        self._runtime.handle(e.Resumed(at=time.time(), by=by))
        return self.state()

    def set_mode(self, mode: v.Mode, by: str) -> v.StateView | v.Refused:
        self._runtime.handle(e.ModeSet(at=time.time(), mode=mode, by=by))
        return self.state()

    def operations(self, limit: int = 50) -> tuple[v.OperationView, ...]:
        found = self._store.documents("operation", v.OperationView, limit)
        return tuple(self._fresh(each) for each in found)

    def operation(self, id: str) -> v.OperationView | v.Refused:
        found = self._store.document("operation", id, v.OperationView)
        return _unknown(f"there is no operation {id!r}") if found is None else self._fresh(found)

    def _fresh(self, stored: v.OperationView) -> v.OperationView:
        """The operation under way comes from memory: progress within a step is not stored."""
        current = self._runtime.operation
        return current if current is not None and current.id == stored.id else stored

    def decisions(
        self, limit: int = 100, before: int | None = None, kind: str | None = None
    ) -> tuple[v.DecisionView, ...]:
        return self._store.decisions(limit, before, kind)

    async def rules(self) -> v.RulesView | v.Refused:
        return await self._adaptations.rules()

    async def put_rules(
        self, rules: Mapping[str, str], definitions: Mapping[str, float | str | bool], by: str
    ) -> v.RulesView | v.Refused:
        return await self._adaptations.put_rules(rules, definitions)

    async def adaptations(self, limit: int = 50) -> tuple[v.AdaptationView, ...] | v.Refused:
        return await self._adaptations.recent(limit)

    def events(self, after: int | None = None) -> AsyncIterator[v.EventView]:
        return self._runtime.stream.follow(after)

    def raise_intent(self, id: str, intent: Intent) -> None:
        """Healing wants something: the loop does it before everything else. The same id is the same wish."""
        self._runtime.handle(e.IntentRaised(at=time.time(), id=id, intent=intent))


def _unknown(reason: str) -> v.Refused:
    return v.Refused(code="unknown", reason=reason)


def _refused(no: tuple[str, str]) -> v.Refused:
    return v.Refused(code=no[0], reason=no[1])  # type: ignore[arg-type]
