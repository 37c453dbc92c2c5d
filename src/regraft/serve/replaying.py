"""Replays windows of the past: the same core, the same designer, and a topology that changes on paper only.

The result is what the loop would have decided in that period, in the mode that is asked about. Costs are
those of each window's measured traffic on the topology as it was and on the topology as it would have been.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from regraft.estate.windows import MeasuredWindow
from regraft.loop import commands as c
from regraft.loop import events as e
from regraft.loop.decisions import Decision
from regraft.loop.policy import Mode
from regraft.loop.state import State, first_state
from regraft.loop.step import step
from regraft.loop.values import Ended, Running, Window
from regraft.model import Plan, RegraftError, Topology
from regraft.model.changes import changed
from regraft.serve.designing import TopologyDesigner

PERSON = "whoever is asked"


@dataclass(frozen=True)
class ReplayedWindow:
    """What a window's traffic cost on the actual topology, and on the one that the loop would have made."""

    window: str
    start: float
    end: float
    publications: int
    cost: float | None
    cost_with: float | None
    topology: str


@dataclass(frozen=True)
class ReplayedChange:
    """A plan that would have been carried out."""

    at: float
    window: str
    plan: str
    steps: int
    actions: int
    gain: float
    price: float


@dataclass
class Replay:
    """`with_loop` is the topology that the loop would have left at the end."""

    windows: list[ReplayedWindow] = field(default_factory=list)
    changes: list[ReplayedChange] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    with_loop: Topology | None = None

    @property
    def cost(self) -> float:
        return sum(each.cost or 0.0 for each in self.windows)

    @property
    def cost_with(self) -> float:
        return sum(each.cost_with or 0.0 for each in self.windows)

    @property
    def price(self) -> float:
        """The price of all changes, in the same units as costs."""
        return sum(each.price for each in self.changes)

    @property
    def saved_share(self) -> float:
        return 1 - (self.cost_with + self.price) / self.cost if self.cost else 0.0


class Replaying:
    """Takes windows one after the other, and answers every command of the loop."""

    def __init__(self, designer: TopologyDesigner, topology: Topology, mode: Mode, begins: float) -> None:
        self._designer = designer
        self._before = topology
        self._topology = topology
        self._epoch = 1
        self._recent: deque[MeasuredWindow] = deque(maxlen=max(designer.policy.confirm, 1))
        self._plans: dict[str, Plan] = {}
        self._goals: dict[str, Topology] = {}
        self._state: State = first_state(designer.policy, mode, begins)
        self.found = Replay(with_loop=topology)
        self._give(e.TopologyChanged(at=begins, epoch=1, sha256=topology.sha256))

    def take(self, window: MeasuredWindow) -> None:
        """Count the window's costs, then let the loop decide what to do about it."""
        self._designer.network.learn(window.round_trips, self._topology)
        self._account(window)
        self._recent.append(window)
        self._give(e.Tick(at=window.end + self._designer.policy.settle_seconds))

    def _account(self, window: MeasuredWindow) -> None:
        """Before the loop decides: the window's traffic ran on the topology of its beginning."""
        costs = [self._cost(each, window) for each in (self._before, self._topology)]
        self.found.windows.append(
            ReplayedWindow(
                window.id,
                window.start,
                window.end,
                window.publications,
                costs[0],
                costs[1],
                self._topology.sha256,
            )
        )

    def _cost(self, topology: Topology, window: MeasuredWindow) -> float | None:
        annotated = self._designer.network.annotated(topology)
        return self._designer.seen(annotated, window.workload, window.seconds).number("routing_cost")

    def _give(self, event: e.Event) -> None:
        waiting: deque[e.Event] = deque([event])
        while waiting:
            event = waiting.popleft()
            self._state, commands = step(self._state, event)
            for command in commands:
                if isinstance(command, c.Log):
                    self.found.decisions.append(command.decision)
                elif isinstance(command, c.Propose) and self._state.mode == "propose":
                    plan = command.proposal.planned.plan
                    waiting.append(e.Approved(at=event.at, plan=plan, by=PERSON))
                elif (answer := self._answer(command, event.at)) is not None:
                    waiting.append(answer)

    def _answer(self, command: c.Command, at: float) -> e.Event | None:
        last = self._recent[-1] if self._recent else None
        match command:
            case c.Measure(ticket=ticket) if last is not None:
                return e.Measured(at=at, ticket=ticket, window=_window(last))
            case c.Assess(ticket=ticket, window=window, candidate=candidate) if last is not None:
                waits = command.proposal.candidate if command.proposal is not None else None
                seen = self._designer.assess(self._topology, last, candidate, waits)
                return e.Judged(
                    at=at,
                    ticket=ticket,
                    window=window,
                    current=seen.current,
                    cost=seen.cost,
                    candidate=seen.candidate,
                    candidate_saved=seen.candidate_saved,
                    proposal=seen.proposal,
                )
            case c.Design(ticket=ticket, max_actions=most):
                found = self._designer.design(self._topology, self._epoch, tuple(self._recent), most)
                reason = found if isinstance(found, str) else ""
                return e.Designed(
                    at=at, ticket=ticket, candidate=None if isinstance(found, str) else found, reason=reason
                )
            case c.MakePlan():
                return self._planned(command, at)
            case c.Deploy(ticket=ticket, running=running):
                return e.Deployed(at=at, ticket=ticket, ended=self._deployed(running, at))
        return None

    def _planned(self, command: c.MakePlan, at: float) -> e.Event:
        last = self._recent[-1]
        goal = changed(self._topology, command.candidate.added, command.candidate.removed)
        made = self._designer.plan(self._topology, self._epoch, goal, last.workload, last.seconds)
        if isinstance(made, str):
            return e.PlanMade(at=at, ticket=command.ticket, reason=made)
        plan, planned = made
        self._plans[plan.sha256], self._goals[plan.sha256] = plan, goal
        return e.PlanMade(at=at, ticket=command.ticket, planned=planned)

    def _deployed(self, running: Running, at: float) -> Ended:
        """On paper every plan reaches its goal, in no time."""
        plan, proposal = running.plan, running.proposal
        if plan is None or proposal is None:
            raise RegraftError("only plans of the loop are replayed")
        before, after = self._topology, self._goals[plan]
        actions = self._plans[plan].actions
        self._topology, self._epoch = after, self._epoch + actions
        self.found.with_loop = after
        gain = proposal.candidate.comparison.gain if proposal.candidate else 0.0
        steps = proposal.planned.steps
        window = self._recent[-1].id
        self.found.changes.append(ReplayedChange(at, window, plan, steps, actions, gain, proposal.price))
        return Ended(
            run=f"{len(self.found.changes)}-paper",
            state="done",
            reason="",
            back=False,
            reached=True,
            epoch=self._epoch,
            topology=after.sha256,
            actions=actions,
            added=tuple(sorted(after.by_ends.keys() - before.by_ends.keys())),
            removed=tuple(sorted(before.by_ends.keys() - after.by_ends.keys())),
        )


def replay(
    windows: Iterable[MeasuredWindow], topology: Topology, designers: Iterable[TopologyDesigner], mode: Mode
) -> list[Replay]:
    """One for each designer, in one pass over the windows. In mode propose, every proposal is approved at
    once."""
    makers = list(designers)
    replaying: list[Replaying] = []
    for window in windows:
        replaying = replaying or [Replaying(each, topology, mode, window.start) for each in makers]
        for each in replaying:
            each.take(window)
    return [each.found for each in replaying] or [Replay(with_loop=topology) for _ in makers]


def _window(measured: MeasuredWindow) -> Window:
    return Window(id=measured.id, start=measured.start, end=measured.end, publications=measured.publications)
