"""A service in memory: what `regraft.serve.service.Service` answers, without brokers, ZooKeeper or Spark."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from regraft.model import Topology
from regraft.model.workload import Workload
from regraft.serve import views as v
from regraft.testing import web_overlay as made
from regraft.testing.web_past import PAST, WINDOW, changed, healed, past, proposed, snapshot


class MemoryService:
    """One overlay, a proposal that waits, and a past. Tests call `kill` and `heal`."""

    def __init__(self, current: Topology, goal: Topology, step_seconds: float = 0.05) -> None:
        self.now, self.step_seconds = time.time, step_seconds
        self.current, self.goal, self.epoch = current, goal, 7
        self.workload = Workload(made.traffic(goal))
        self.made_plan = made.planned(current, goal)
        self.views = made.plan_view(self.made_plan, current, goal, self.workload)
        self.dead: frozenset[str] = frozenset()
        self.started = self.now()
        self.mode: v.Mode = "propose"
        self.paused: str | None = None
        self.troubles: tuple[v.Trouble, ...] = ()
        self.candidate: v.CandidateView | None = None
        self._operations: dict[str, v.OperationView] = {}
        self._decisions: list[v.DecisionView] = []
        self._adaptations: list[v.AdaptationView] = []
        self._events: list[v.EventView] = []
        self._more = asyncio.Event()
        self._rules = {
            "deleteBrokerRules": "type oblig deleteBrokerRules(target database, Broker<T> broker){}"
        }
        self._running: asyncio.Task[None] | None = None
        cost = made.numbers(current, self.workload)["routing_cost"] or 1.0
        self.points = past(cost, self.started)
        self._marks = [changed(self.points)]
        self._proposal = proposed(self.made_plan, current, goal, self.workload, self.started, self.epoch)
        for n, (kind, text) in enumerate(PAST):
            self._decide(kind, text, "loop", kind == "proposed", at=self.started - (len(PAST) - n) * WINDOW)

    def state(self) -> v.StateView:
        standings: dict[str, v.Standing] = {"waiting": "proposed", "would-propose": "would-propose"}
        standing = standings.get(self._proposal.state, "watching")
        running = next((each for each in self._operations.values() if each.ended is None), None)
        if running:
            standing = "deploying"
        if self.dead:
            standing = "healing"
        if self.paused is not None:
            standing = "paused"
        sentence = SENTENCES[standing]
        return v.StateView(
            overlay="test",
            standing=standing,
            sentence=sentence,
            mode=self.mode,
            effective_mode="observe" if self.paused is not None else self.mode,
            phase="deploying" if running else "waiting",
            since=self.started,
            paused=self.paused,
            troubles=self.troubles,
            window_seconds=WINDOW,
            next_window_at=self.now() + WINDOW,
            cooling_until=None,
            proposal=self._proposal.sha256 if self._proposal.state == "waiting" else None,
            would_propose=self._proposal.sha256 if self._proposal.state == "would-propose" else None,
            candidate=self.candidate,
            run=running.run if running else None,
            operation=running.id if running else None,
            epoch=self.epoch,
            topology=self.current.sha256,
            budget=v.BudgetView(
                actions_used=12, actions_limit=200, transformations_used=1, transformations_limit=6
            ),
            maintenance=True,
            started_at=self.started,
            at=self.now(),
        )

    def health(self) -> v.HealthView:
        checks = {"coordination": "ok", "measure": "ok"} | {each.part: each.reason for each in self.troubles}
        return v.HealthView(ok=True, ready=not self.troubles, checks=checks)

    def metrics(self) -> Mapping[str, tuple[str, str, float]]:
        return {
            "windows_total": ("counter", "Windows that were measured.", float(len(self.points))),
            "routing_cost": ("gauge", "Of the last window.", self.points[-1].routing_cost or 0.0),
        }

    async def topology(self) -> v.TopologyView | v.Refused:
        return made.topology_view(self.current, self.workload, self.epoch, self.dead, self.now())

    async def brokers(self) -> tuple[v.BrokerView, ...] | v.Refused:
        return made.topology_view(self.current, self.workload, self.epoch, self.dead, self.now()).brokers

    async def broker(self, id: str) -> v.BrokerView | v.Refused:
        if id not in self.current.ids:
            return v.Refused(code="unknown", reason=f"there is no broker {id!r}")
        return made.broker_view(self.current, id, 10.0, id not in self.dead)

    def snapshots(self, limit: int = 50, before: float | None = None) -> tuple[v.SnapshotView, ...]:
        points = [point for point in self.points if before is None or point.at < before]
        classes = len(self.workload.traffic)
        return tuple(snapshot(point, classes) for point in points[::-1][:limit])

    def snapshot(self, id: str) -> v.SnapshotView | v.Refused:
        found = [each for each in self.snapshots(1000) if each.id == id]
        return found[0] if found else v.Refused(code="unknown", reason=f"there is no snapshot {id!r}")

    def series(self, since: float | None = None, until: float | None = None) -> v.SeriesView:
        points = tuple(
            point
            for point in self.points
            if (since is None or point.at >= since) and (until is None or point.at <= until)
        )
        return v.SeriesView(points=points, runs=tuple(self._marks))

    def proposals(self, limit: int = 50) -> tuple[v.ProposalView, ...]:
        return (self._proposal,)

    def proposal(self, sha256: str) -> v.ProposalView | v.Refused:
        return self._proposal if sha256 == self._proposal.sha256 else UNKNOWN_PLAN

    async def plan(self, sha256: str) -> v.PlanView | v.Refused:
        return self.views if sha256 == self.views.sha256 else UNKNOWN_PLAN

    async def approve(self, sha256: str, by: str) -> v.OperationView | v.Refused:
        if sha256 != self._proposal.sha256:
            return UNKNOWN_PLAN
        if self._proposal.state == "would-propose":
            return ONLY_SHOWN
        if self._proposal.state != "waiting":
            return v.Refused(code="again", reason=f"the plan is {self._proposal.state} already")
        if self.current.sha256 != self._proposal.initial:
            return v.Refused(code="stale", reason="the topology has moved on")
        operation = self._operation("deploy", by)
        self._propose(state="deploying", reason=f"approved by {by}", operation=operation.id)
        self._decide("approved", f"{by} approved the plan", by, True, plan=sha256, operation=operation.id)
        self._running = asyncio.create_task(self._deploy(operation))
        return operation

    def reject(self, sha256: str, reason: str, by: str) -> v.ProposalView | v.Refused:
        if sha256 != self._proposal.sha256:
            return UNKNOWN_PLAN
        if self._proposal.state == "would-propose":
            return ONLY_SHOWN
        if self._proposal.state != "waiting":
            return v.Refused(code="again", reason=f"the plan is {self._proposal.state} already")
        self._propose(state="rejected", reason=reason)
        self._decide("rejected", reason, by, False, plan=sha256)
        return self._proposal

    async def roll_back(self, by: str) -> v.OperationView | v.Refused:
        return NOTHING_RUNS

    async def pause_run(self, by: str) -> v.OperationView | v.Refused:
        return NOTHING_RUNS

    async def continue_run(self, by: str) -> v.OperationView | v.Refused:
        return NOTHING_RUNS

    async def stop_run(self, by: str) -> v.OperationView | v.Refused:
        return NOTHING_RUNS

    def pause(self, reason: str, by: str) -> v.StateView | v.Refused:
        self.paused = reason
        self._decide("paused", reason, by, True)
        return self._said()

    def resume(self, by: str) -> v.StateView | v.Refused:
        if self.paused is None:
            return v.Refused(code="again", reason="the loop is not paused")
        self.paused = None
        return self._said()

    def set_mode(self, mode: v.Mode, by: str) -> v.StateView | v.Refused:
        self.mode = mode
        self._decide("mode", f"the mode is {mode}", by, True)
        if mode == "observe" and self._proposal.state == "waiting":
            self._propose(state="would-propose", reason="the loop only observes (the mode is observe)")
        elif mode != "observe" and self._proposal.state == "would-propose":
            self._propose(state="waiting", reason=f"the mode is {mode}")
        return self._said()

    def operations(self, limit: int = 50) -> tuple[v.OperationView, ...]:
        return tuple(self._operations.values())[::-1][:limit]

    def operation(self, id: str) -> v.OperationView | v.Refused:
        return self._operations.get(id) or v.Refused(code="unknown", reason=f"there is no operation {id!r}")

    def decisions(
        self, limit: int = 100, before: int | None = None, kind: str | None = None
    ) -> tuple[v.DecisionView, ...]:
        chosen = [
            each
            for each in reversed(self._decisions)
            if (before is None or each.id < before) and (kind is None or each.kind == kind)
        ]
        return tuple(chosen[:limit])

    async def rules(self) -> v.RulesView | v.Refused:
        rules = tuple(v.RuleView(name=name, text=text, version=1) for name, text in self._rules.items())
        return v.RulesView(version=3, rules=rules, definitions={"overload": 0.9})

    async def put_rules(
        self, rules: Mapping[str, str], definitions: Mapping[str, float | str | bool], by: str
    ) -> v.RulesView | v.Refused:
        if empty := [name for name, text in rules.items() if not text.strip()]:
            return v.Refused(code="bad", reason=f"rule {empty[0]!r} is empty")
        self._rules |= rules
        return await self.rules()

    async def adaptations(self, limit: int = 50) -> tuple[v.AdaptationView, ...] | v.Refused:
        return tuple(self._adaptations[::-1][:limit])

    async def events(self, after: int | None = None) -> AsyncIterator[v.EventView]:
        seen = len(self._events) if after is None else min(after, len(self._events))
        while True:
            while seen < len(self._events):
                seen += 1
                yield self._events[seen - 1]
            self._more.clear()
            await self._more.wait()

    def kill(self, broker: str) -> None:
        """The broker dies; the overlay has not reacted yet."""
        self.dead |= {broker}
        self._said()
        self._tell("topology", {"epoch": self.epoch, "sha256": self.current.sha256})

    def heal(self) -> None:
        """The overlay repairs itself: the neighbours of dead brokers are joined."""
        for broker in sorted(self.dead):
            self.current = made.without(self.current, broker)
            self.epoch += 1
            self._adaptations.append(healed(broker, self.now(), len(self._adaptations)))
            self._decide("healed", f"{broker} died; its neighbours were joined", "healing", True)
            self._tell("adaptation", msgspec.to_builtins(self._adaptations[-1]))
        ids = set(self.current.ids)
        self.workload = Workload(tuple(each for each in self.workload.traffic if each.members <= ids))
        self.dead = frozenset()
        self._tell("topology", {"epoch": self.epoch, "sha256": self.current.sha256})
        self._said()

    async def _deploy(self, operation: v.OperationView) -> None:
        began, published = self.now(), 0
        for number, step in enumerate(self.made_plan.steps, 1):
            await asyncio.sleep(self.step_seconds)
            self.current = made.after(self.current, self.goal, step)
            self.epoch += 1
            published += 40
            done = operation.actions_done + len(step)
            operation = self._changed(operation, state="running", step=number, actions_done=done)
            self._tell("topology", {"epoch": self.epoch, "sha256": self.current.sha256})
        self._changed(operation, state="done", ended=self.now())
        self._marks.append(
            v.RunMark(
                run=operation.run or "",
                plan=self.made_plan.sha256,
                began=began,
                ended=self.now(),
                state="done",
                cause="person",
                back=False,
                actions=self.made_plan.actions,
                published=published,
                delivered=published * 3,
                lost=0,
                duplicated=0,
                reordered=0,
            )
        )
        self._propose(state="done", reason=self._proposal.reason)
        self._decide(
            "deployed", f"{self.made_plan.actions} actions done", "loop", True, plan=self.made_plan.sha256
        )
        self._said()

    def _operation(self, kind: Any, by: str) -> v.OperationView:
        operation = v.OperationView(
            id=f"op-{len(self._operations) + 1}",
            kind=kind,
            state="waiting",
            by=by,
            plan=self.made_plan.sha256,
            run=f"{len(self._operations) + 3}-test",
            began=self.now(),
            changed_at=self.now(),
            ended=None,
            steps=len(self.made_plan.steps),
            actions=self.made_plan.actions,
        )
        self._operations[operation.id] = operation
        self._tell("operation", msgspec.to_builtins(operation))
        return operation

    def _changed(self, operation: v.OperationView, **fields: Any) -> v.OperationView:
        operation = msgspec.structs.replace(operation, changed_at=self.now(), **fields)
        self._operations[operation.id] = operation
        self._tell("operation", msgspec.to_builtins(operation))
        return operation

    def _propose(self, **fields: Any) -> None:
        self._proposal = msgspec.structs.replace(self._proposal, changed_at=self.now(), **fields)
        self._tell("proposal", msgspec.to_builtins(self._proposal))
        self._said()

    def _decide(self, kind: str, text: str, by: str, acted: bool, at: float = 0.0, **fields: Any) -> None:
        decision = v.DecisionView(
            id=len(self._decisions) + 1,
            at=at or self.now(),
            kind=kind,
            text=text,
            by=by,
            acted=acted,
            numbers={"routing_cost": 3120.0, "gain": 0.21},
            **fields,
        )
        self._decisions.append(decision)
        self._tell("decision", msgspec.to_builtins(decision))

    def _said(self) -> v.StateView:
        self._tell("state", msgspec.to_builtins(self.state()))
        return self.state()

    def _tell(self, kind: Any, data: dict[str, object]) -> None:
        self._events.append(v.EventView(id=len(self._events) + 1, at=self.now(), kind=kind, data=data))
        self._more.set()


UNKNOWN_PLAN = v.Refused(code="unknown", reason="there is no plan with this hash")
ONLY_SHOWN = v.Refused(
    code="mode",
    reason="the loop only observes (the mode is observe): the plan is shown, and nothing can be approved",
)
NOTHING_RUNS = v.Refused(code="unknown", reason="no run is under way")
SENTENCES = {
    "proposed": "A better overlay was found; a person has to approve the plan.",
    "would-propose": "The loop only observes: a change is shown, and nothing is carried out.",
    "deploying": "A plan is being carried out.",
    "watching": "The overlay fits its traffic.",
    "healing": "A broker died; its neighbours are being joined.",
    "paused": "Paused by a person.",
}
