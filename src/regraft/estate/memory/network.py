"""What exists of a network in memory whether or not a loop runs on it: links, brokers, the last run.

A run is carried out action by action. It waits while a broker that takes part is `silent` and while it is
asked to pause. If the network goes away, carrying it out ends with `Away`, and the run stays as it is until
somebody resumes it, as a run in a journal does.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from regraft.estate.protocol import Away, Known, RunProgress, TellProgress, WantedOfRun
from regraft.model import BadInput, Broker, Link, Topology
from regraft.model.changes import RawAction, apply, taken_back
from regraft.model.outcome import ActionOutcome, Outcome, StepOutcome

LOOK_SECONDS = 0.002
"""How often a run that waits looks again."""


@dataclass
class MemoryRun:
    """`made` are the actions carried out so far, by their steps; `state` has the words of our own journal."""

    id: str
    plan: str
    goal: str
    steps: list[list[RawAction]]
    back: bool = False
    state: str = "running"
    wanted: WantedOfRun = "run"
    reason: str = ""
    made: list[list[RawAction]] = field(default_factory=list)
    began: float = field(default_factory=time.time)

    @property
    def actions(self) -> int:
        return sum(map(len, self.steps))

    @property
    def actions_done(self) -> int:
        return sum(map(len, self.made))

    def progress(self) -> RunProgress:
        done = self.actions_done
        step, before = 1, 0
        while step < len(self.steps) and done >= before + len(self.steps[step - 1]):
            before += len(self.steps[step - 1])
            step += 1
        return RunProgress(self.id, step, len(self.steps), self.actions, done, self.wanted == "pause")

    def next_action(self) -> tuple[int, RawAction] | None:
        """The next action with its step, counted from 0; None if all have been carried out."""
        for number, step in enumerate(self.steps):
            done = len(self.made[number]) if number < len(self.made) else 0
            if done < len(step):
                return number, step[done]
        return None


class MemoryNetwork:
    """Several loops may run on it, one after the other; `topology` is None if it has not been started."""

    def __init__(self, topology: Topology | None = None, epoch: int = 1) -> None:
        self._known = Known(topology, epoch) if topology is not None else None
        self.run: MemoryRun | None = None
        self.is_deploying = False
        """Whether a loop carries the run out at the moment."""
        self.held_by: str | None = None
        """The name of the loop that may change the network."""
        self.loops = 0
        """How many loops have been opened on it so far."""
        self.silent: set[str] = set()
        """Brokers that never become ready."""
        self.prepared: list[tuple[str, str]] = []
        """Broker and action, in the order in which they were told."""
        self._away = ""
        self._changed: list[Callable[[Known], None]] = []
        self._failed: list[Callable[[str], None]] = []
        self._runs = 0

    @property
    def known(self) -> Known:
        self.check()
        if self._known is None:
            raise BadInput("/topology", "there is no topology: no overlay has been started here")
        return self._known

    def check(self) -> None:
        if self._away:
            raise Away(self._away)

    def go_away(self, reason: str = "the network does not answer") -> None:
        """Until `come_back`, nothing is answered. The loop loses its right to change the network."""
        self._away, self.held_by = reason, None
        for failed in self._failed:
            failed(reason)

    def come_back(self) -> None:
        self._away = ""

    def set_topology(self, topology: Topology, epoch: int) -> None:
        """Called by runs, and by tests that change the topology from outside."""
        self._known = Known(topology, epoch)
        for changed in self._changed:
            changed(self._known)

    async def follow(self, changed: Callable[[Known], None], failed: Callable[[str], None]) -> None:
        self._changed.append(changed)
        self._failed.append(failed)
        try:
            await asyncio.Event().wait()
        finally:
            self._changed.remove(changed)
            self._failed.remove(failed)

    def begin(self, plan: str, goal: str, steps: list[list[RawAction]], *, back: bool = False) -> MemoryRun:
        if self.run is not None and self.run.state == "running":
            raise BadInput(f"run {self.run.id}", "has not ended")
        self._runs += 1
        self.run = MemoryRun(f"{self._runs}-memory", plan, goal, steps, back)
        return self.run

    def begin_back(self) -> MemoryRun:
        """Begin a run that undoes what the last run has made, the last action first."""
        run = self.run
        if run is None:
            raise BadInput("", "there is no run")
        if run.back and run.state == "done":
            raise BadInput(f"run {run.id}", "has been taken back already")
        undone = taken_back([[[action] for action in step] for step in run.made])
        run.state = "stopped"
        return self.begin(run.plan, "", undone, back=True)

    async def run_to_its_end(self, tell: TellProgress) -> Outcome:
        """Carry out the run that was begun."""
        assert self.run is not None
        self.is_deploying = True
        try:
            while (run := self.run).state == "running":
                self.check()
                tell(run.progress())
                await self._act_or_wait(run)
            tell(run.progress())
            return self._outcome(run)
        finally:
            self.is_deploying = False

    async def _act_or_wait(self, run: MemoryRun) -> None:
        """Carry out one action, or wait a moment, or end the run if it is to end."""
        if run.wanted == "stop":
            run.state, run.reason = "stopped", "somebody has stopped it"
        elif run.wanted == "roll back" and not run.back:
            self.begin_back()
        elif (found := run.next_action()) is None:
            run.state = "done"
        else:
            step, action = found
            told = (action[1], f"{action[0]}({', '.join(action[1:])})")
            if told not in self.prepared:
                self.prepared.append(told)
            await asyncio.sleep(LOOK_SECONDS)
            if run.wanted == "run" and not self.silent & set(action[1:]):
                self._carry_out(run, step, action)

    def _carry_out(self, run: MemoryRun, step: int, action: RawAction) -> None:
        topology, epoch = self.known
        brokers, links = apply(action, topology.ids, topology.by_ends)
        while len(run.made) <= step:
            run.made.append([])
        run.made[step].append(action)
        self.set_topology(
            Topology(tuple(map(Broker, brokers)), tuple(map(Link, links)), topology.kind), epoch + 1
        )

    def _outcome(self, run: MemoryRun) -> Outcome:
        topology, epoch = self.known
        done = [(number, action) for number, step in enumerate(run.made, 1) for action in step]
        return Outcome(
            run=run.id,
            plan=run.plan,
            back=run.back,
            state=run.state,
            reason=run.reason,
            seconds=time.time() - run.began,
            steps=tuple(StepOutcome(at, len(step), 0.0) for at, step in enumerate(run.steps, 1)),
            actions=tuple(ActionOutcome(at, action, 1, "done", 1, run.began, 0.0) for at, action in done),
            canaries=None,
            no_canaries="a network in memory has no clients",
            epoch=epoch,
            topology=topology,
            goal=run.state == "done" and (run.back or topology.sha256 == run.goal),
        )
