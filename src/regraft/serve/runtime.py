"""Runs the loop: each event is one step, written in one transaction before its commands are carried out.

On failure: what is on disk is always a whole step. After a restart the state is read, `Started` is the first
event, and an interrupted run is resumed. While nothing can be written, the loop is told so (part `disk`) and
changes nothing.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import msgspec

from regraft.estate.protocol import Known, RunProgress
from regraft.loop import commands as c
from regraft.loop import events as e
from regraft.loop.decisions import Decision
from regraft.loop.state import State
from regraft.loop.step import step
from regraft.model import RegraftError
from regraft.serve import history as h
from regraft.serve import views as v
from regraft.serve.commands import CommandResult, CommandRunner
from regraft.serve.history import History
from regraft.serve.status import ReadRecords, state_view
from regraft.serve.store import Document, Store, StoreFault
from regraft.serve.stream import Stream

log = logging.getLogger("regraft.loop")
TICK_SECONDS = 1.0
SHORTEST_SECONDS = 0.05
TIDY_SECONDS = 3600.0
MOST_UNWRITTEN = 1000
"""How many decisions and documents are kept while they cannot be written."""
IntentsAnswered = Callable[[tuple[str, ...], bool, str], None]
"""Called with the ids of Intents, whether they were carried out, and why not."""


class Runtime:
    """`handle` may be called by any task of the event loop; it never waits."""

    def __init__(
        self, name: str, state: State, runner: CommandRunner, store: Store, history: History, keep: float
    ) -> None:
        self.name = name
        self.started_at = time.time()
        self.state = state
        self.runner = runner
        self.stream = Stream()
        self.ready = asyncio.Event()
        """Set when the work that the previous process has left is resumed; before, people are not served."""
        self.operation: v.OperationView | None = None
        self.snapshot: v.SnapshotView | None = None
        self.steps = 0
        self.decided: dict[str, int] = {}
        """How many decisions of each kind there were since the start."""
        self.read_records = ReadRecords()
        self._store = store
        self._history = history
        self._keep = keep
        self._tasks: set[asyncio.Task[None]] = set()
        self._unwritten_decisions: list[tuple[Decision, str | None]] = []
        self._unwritten_documents: dict[tuple[str, str], Document] = {}
        self._cannot_write = False
        self._numbers: dict[str, Any] = {}
        self._answer: IntentsAnswered = lambda intents, done, reason: None

    def view(self) -> v.StateView:
        return state_view(self.state, self.operation, self.name, self.started_at, time.time())

    def on_answers(self, told: IntentsAnswered) -> None:
        """Sets the function that tells healing what became of its Intents."""
        self._answer = told

    async def run(self) -> None:
        """Runs until it is cancelled."""
        known = self.runner.estate.known
        if known is not None:
            self._topology_changed(known)
        self.handle(e.Started(at=time.time(), interrupted=await self.runner.estate.interrupted()))
        self.ready.set()
        async with asyncio.TaskGroup() as group:
            group.create_task(self.runner.estate.follow(self._topology_changed, self._coordination_failed))
            group.create_task(self._warm())
            group.create_task(self._ticks())

    async def close(self) -> None:
        """Cancels the work under way. The estate keeps an unfinished run, which the next start resumes."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _warm(self) -> None:
        try:
            await self.runner.warm()
        except RegraftError as fault:
            self.handle(e.Failed(at=time.time(), part="measure", reason=str(fault)))

    async def _ticks(self) -> None:
        tidy = 0.0
        while True:
            now = time.time()
            self.handle(e.Tick(at=now))
            if now - tidy > TIDY_SECONDS:
                tidy = now
                try:
                    self._store.forget(now - self._keep)
                except StoreFault as fault:
                    self.handle(e.Failed(at=now, part="disk", reason=str(fault)))
            await asyncio.sleep(min(max(self._next_due() - time.time(), SHORTEST_SECONDS), TICK_SECONDS))

    def _next_due(self) -> float:
        """When the loop next has something to do without an event from outside."""
        state = self.state
        retries = [trouble.retry_at for trouble in state.troubles.values() if not trouble.lifted]
        return min([*retries, *([state.due] if state.phase == "waiting" else [])], default=float("inf"))

    def _topology_changed(self, known: Known) -> None:
        if (known.epoch, known.topology.sha256) != (self.state.epoch, self.state.topology):
            self.stream.tell("topology", {"epoch": known.epoch, "sha256": known.topology.sha256})
            self.handle(e.TopologyChanged(at=time.time(), epoch=known.epoch, sha256=known.topology.sha256))

    def _coordination_failed(self, reason: str) -> None:
        if "coordination" not in self.state.troubles:
            self.handle(e.Failed(at=time.time(), part="coordination", reason=reason))

    def handle(self, event: e.Event, documents: tuple[Document, ...] = ()) -> None:
        """One step: decide, write, tell the followers of the stream, carry out."""
        before = self.state
        self.state, commands = step(before, event)
        self.steps += 1
        if self.state is before and not documents:
            return
        deploys = [each for each in commands if isinstance(each, c.Deploy | c.Resume)]
        if deploys:
            self.operation = self._operation_of(deploys[0], event.at)
            documents = (*documents, h.operation_document(self.operation))
        said = [command.decision for command in commands if isinstance(command, c.Log)]
        changes = self._proposal_changes(commands, event.at)
        written = self._write([*documents, *changes], said)
        self._tell(before, changes, deploys)
        for command in commands:
            self._perform(command, written)

    def _operation_of(self, command: c.Deploy | c.Resume, at: float) -> v.OperationView:
        known = self._history.unfinished() if isinstance(command, c.Resume) else None
        return known or h.new_operation(command.running, at)

    def _proposal_changes(self, commands: tuple[c.Command, ...], at: float) -> list[Document]:
        changes: dict[str, Document] = {}
        for command in commands:
            if isinstance(command, c.Propose):
                window = self.state.window
                seconds = window.seconds if window is not None else 0.0
                confirm = self.state.policy.confirm
                made = self._history.proposed(command, at, seconds, self._numbers, confirm)
                changes[made.id] = made
            elif isinstance(command, c.Settle):
                operation = self.operation.id if self.operation is not None else None
                known = changes.get(command.plan)
                settled = self._history.settled(command, at, operation, known.value if known else None)
                if settled is not None:
                    changes[settled.id] = settled
        return list(changes.values())

    def _write(self, documents: list[Document], decisions: list[Decision]) -> bool:
        """Whether everything was written. What could not be is kept, up to a limit, for the next time."""
        operation = self.operation.id if self.operation is not None and self.operation.ended is None else None
        said = [*self._unwritten_decisions, *((decision, operation) for decision in decisions)]
        for each in documents:  # popped first, so that the newest stand last and survive the limit below
            self._unwritten_documents.pop((each.kind, each.id), None)
            self._unwritten_documents[each.kind, each.id] = each
        try:
            views = self._store.write(self.state, said, self._unwritten_documents.values())
        except StoreFault as fault:
            self._unwritten_decisions = said[-MOST_UNWRITTEN:]
            self._unwritten_documents = dict([*self._unwritten_documents.items()][-MOST_UNWRITTEN:])
            if not self._cannot_write:
                # Set first: the step for this fault is written as well, and fails in the same way.
                self._cannot_write = True
                self.handle(e.Failed(at=time.time(), part="disk", reason=str(fault)))
            return False
        self._unwritten_decisions, self._unwritten_documents, self._cannot_write = [], {}, False
        for view in views:
            self.decided[view.kind] = self.decided.get(view.kind, 0) + 1
            self.stream.tell("decision", view)
            extra = {"plan": view.plan, "operation": view.operation, "window": view.window}
            log.info("%s: %s", view.kind, view.text, extra={k: x for k, x in extra.items() if x is not None})
        return True

    def _tell(self, before: State, changes: list[Document], deploys: list[Any]) -> None:
        for document in changes:
            if isinstance(document.value, v.View):
                self.stream.tell(document.kind, document.value)
        if deploys and self.operation is not None:
            self.stream.tell("operation", self.operation)
        if _shown(before) != _shown(self.state):
            self.stream.tell("state", self.view())

    def _perform(self, command: c.Command, written: bool) -> None:
        if isinstance(command, c.AnswerIntents):
            self._answer(command.intents, command.done, command.reason)
        elif isinstance(command, c.StopRun):
            self._start(self._stop(command))
        elif isinstance(command, c.Probe):
            self._start(self._probe(command.part))
        elif isinstance(command, c.Deploy) and not written:
            # The decision is not on disk: after a crash the loop would not know of the run.
            reason = "the decision could not be written"
            self._not_begun(reason)
            self.handle(e.Failed(at=time.time(), part="disk", reason=reason, ticket=command.ticket))
        elif not isinstance(command, c.Log | c.Propose | c.Settle):
            self._start(self._work(command))

    def _not_begun(self, reason: str) -> None:
        if self.operation is not None:
            now = time.time()
            self.operation = msgspec.structs.replace(
                self.operation, state="failed", reason=reason, changed_at=now, ended=now
            )

    def _start(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, command: c.Command) -> None:
        done = await self.runner.do(command, self._progress)
        self.handle(done.event, tuple(self._documents(command, done)))

    def _documents(self, command: c.Command, done: CommandResult) -> list[Document]:
        """The documents in which people see the result of the command."""
        now = time.time()
        if done.window is not None:
            found, seconds = done.window
            self.read_records = self.read_records.plus(found)
            self.snapshot = h.snapshot_view(found, now, seconds, self.runner.designer.network.typical_ms)
            return [h.snapshot_document(self.snapshot)]
        if done.assessed is not None and self.snapshot is not None and self.state.topology is not None:
            view = h.judged_snapshot(self.snapshot, done.assessed, self.state.epoch, self.state.topology)
            self.snapshot = view
            self._numbers = {"before": view.numbers}
            self.stream.tell("snapshot", view)
            return [h.snapshot_document(view)]
        if done.plan is not None:
            self._numbers = {**self._numbers, "after": done.after or {}}
            return [Document("plan", str(done.plan.document["sha256"]), now, done.plan)]
        if isinstance(command, c.Deploy | c.Resume) and self.operation is not None:
            return self._ended(command, done, now)
        return []

    def _ended(self, command: c.Deploy | c.Resume, done: CommandResult, now: float) -> list[Document]:
        assert self.operation is not None
        if isinstance(done.event, e.Deployed):
            ended = done.event.ended
            self.operation = h.ended_operation(self.operation, ended, done.outcome, now)
            cause = {"traffic": "loop"}.get(command.running.cause, command.running.cause)
            documents = [h.run_mark(self.operation, ended, done.outcome, cause)]
        else:
            assert isinstance(done.event, e.Failed)
            over = done.event.part != "coordination"
            self.operation = msgspec.structs.replace(
                self.operation,
                state="failed" if over else "paused",
                reason=done.event.reason,
                changed_at=now,
                ended=now if over else None,
            )
            documents = []
        self.stream.tell("operation", self.operation)
        return [h.operation_document(self.operation), *documents]

    def _progress(self, progress: RunProgress) -> None:
        """Updates the operation under way, and tells the followers of the stream what has changed."""
        operation = self.operation
        if operation is None or operation.ended is not None:
            return
        now = msgspec.structs.replace(
            operation,
            run=progress.run,
            state="paused" if progress.paused else "running",
            step=progress.step,
            steps=progress.steps,
            actions=progress.actions,
            actions_done=progress.actions_done,
        )
        if now != operation:
            self.operation = msgspec.structs.replace(now, changed_at=time.time())
            self.stream.tell("operation", self.operation)

    async def _stop(self, command: c.StopRun) -> None:
        try:
            await self.runner.estate.ask("roll back" if command.back else "stop")
        except RegraftError as fault:  # the run has ended, or the estate is away: its end is told in any case
            log.warning("the run could not be told to stop: %s", fault)

    async def _probe(self, part: str) -> None:
        try:
            if part == "coordination":
                known = await self.runner.estate.probe()
                self._topology_changed(known)
            else:
                self.runner.estate.check_disk()
                self._store.write(self.state)
        except (RegraftError, OSError) as fault:
            self.handle(e.Failed(at=time.time(), part=part, reason=str(fault)))
        else:
            self.handle(e.Recovered(at=time.time(), part=part))


def _shown(state: State) -> tuple[object, ...]:
    return (
        state.phase,
        state.mode,
        state.paused,
        state.troubles,
        state.proposal,
        state.candidate,
        state.running,
        state.cooling_until,
        state.epoch,
    )
