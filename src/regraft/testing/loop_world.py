"""A world for the loop's core: it answers commands at random, and people, healing and time disturb it.

One seed is one trace. `LoopWorld.run` checks after every step what must always hold (`check_state`), and over
the whole history what must never happen: two runs at once, a run that nobody was entitled to, a stale plan.
"""

import random
from collections.abc import Callable

from regraft.loop import commands as c
from regraft.loop import events as e
from regraft.loop.goals import Verdict
from regraft.loop.judging import Comparison
from regraft.loop.phases import Phase
from regraft.loop.policy import Mode, Policy
from regraft.loop.state import State, first_state
from regraft.loop.step import step
from regraft.loop.values import PROPOSAL_STATES, Candidate, Ended, Planned, ProposalState, Window
from regraft.model.intents import Delete
from regraft.model.transitions import Machine

PARTS = ("measure", "coordination", "design", "plan", "deploy", "disk")
RUNS = (c.Deploy, c.Resume)


class BrokenPromise(AssertionError):
    """A promise that the loop has broken, with the last events."""


class LoopWorld:
    def __init__(self, seed: int, mode: Mode, policy: Policy | None = None) -> None:
        self.random = random.Random(seed)
        self.now = 1_000_000.0
        self.policy = policy or Policy(confirm=1 + seed % 3, cool_down_seconds=30.0, least_publications=1)
        self.state = first_state(self.policy, mode, self.now)
        self.history: list[str] = []
        self.decisions: list[str] = []
        self.waiting: list[c.Command] = []
        """Commands that have not been answered."""
        self.under_way: c.Deploy | c.Resume | None = None
        self.approved: set[str] = set()
        """Plans that a person approved while they waited for approval."""
        self.proposals: dict[str, Machine[ProposalState]] = {}
        """The states of proposals, by the hashes of their plans."""
        self.deployed = 0
        self.epoch = 1
        self.serial = 0

    @property
    def topology(self) -> str:
        return f"t{self.epoch}"

    def take(self, event: e.Event) -> None:
        self.history.append(f"{event}")
        if isinstance(event, e.Approved) and self._is_fresh(event.plan):
            self.approved.add(event.plan)
        self.state, commands = step(self.state, event)
        for command in commands:
            self._note(command)
        problem = check_state(self.state)
        if problem is not None:
            self._broken(problem)
        for command in commands:
            self._follow_proposal(command)

    def _is_fresh(self, plan: str) -> bool:
        proposal = self.state.proposal
        if proposal is None or proposal.observed or proposal.planned.plan != plan:
            return False
        return proposal.planned.epoch == self.epoch

    def _note(self, command: c.Command) -> None:
        if isinstance(command, c.Log):
            self.decisions.append(command.decision.kind)
        elif isinstance(command, RUNS):
            self._check_run(command)
            self.under_way = command
            self.waiting.append(command)
        elif hasattr(command, "ticket") or isinstance(command, c.Probe):
            self.waiting.append(command)

    def _follow_proposal(self, command: c.Command) -> None:
        """Raises `IllegalTransition` if a proposal becomes what it cannot become."""
        if isinstance(command, c.Propose):
            state = ProposalState.SHOWN if command.proposal.observed else ProposalState.WAITING
            plan = command.proposal.planned.plan
            self.proposals[plan] = Machine(PROPOSAL_STATES, state, f"the proposal {plan}")
        elif isinstance(command, c.Settle) and command.plan in self.proposals:
            self.proposals[command.plan].become(command.state)

    def _check_run(self, command: c.Deploy | c.Resume) -> None:
        running = command.running
        if self.under_way is not None and not isinstance(command, c.Resume):
            self._broken("two runs at once")
        if isinstance(command, c.Resume):
            return
        self.deployed += 1
        proposal = running.proposal
        observing = self.state.mode == "observe" or self.state.paused is not None
        if running.by == "healing" and observing:
            self._broken("healing in mode observe")
        if running.cause == "traffic":
            if self.state.mode == "observe":
                self._broken("a run in mode observe")
            if self.state.mode == "propose" and running.plan not in self.approved:
                self._broken("a run that nobody approved")
            if running.by == "loop" and self.state.effective_mode != "automatic":
                self._broken("a run by itself, and the mode is not automatic")
            if proposal is None or proposal.planned.epoch != self.epoch:
                self._broken("a plan for another topology")
            if proposal is not None and proposal.observed:
                self._broken("a run of a plan that is only shown")

    def _broken(self, problem: str) -> None:
        raise BrokenPromise(f"{problem}\n" + "\n".join(self.history[-12:]) + f"\n{self.state}")

    def run(self, steps: int) -> None:
        self.take(e.TopologyChanged(at=self.now, epoch=self.epoch, sha256=self.topology))
        for _ in range(steps):
            self.now += self.random.choice((0.1, 1.0, 5.0, 30.0, 61.0))
            self.random.choice(self._possible())()

    def _possible(self) -> list[Callable[[], None]]:
        always: list[Callable[[], None]] = [self._tick, self._tick, self._tick, self._person, self._disturb]
        return [*always, *[self._answer] * (6 if self.waiting else 0)]

    def _tick(self) -> None:
        self.take(e.Tick(at=self.now))

    def _person(self) -> None:
        """A person approves, rejects, pauses or sets the mode, sometimes with a plan that does not exist."""
        known = self.state.proposal.planned.plan if self.state.proposal else f"p{self.random.randint(0, 9)}"
        at, by = self.now, "ann"
        choices: list[e.Event] = [
            e.Approved(at=at, plan=known, by=by),
            e.Approved(at=at, plan=known, by=by),
            e.Rejected(at=at, plan=known, by=by, reason="no"),
            e.BackAsked(at=at, by=by),
            e.Paused(at=at, by=by, reason="lunch"),
            e.Resumed(at=at, by=by),
            e.ModeSet(at=at, by=by, mode=self.random.choice(("observe", "propose", "automatic"))),
        ]
        self.take(self.random.choice(choices))

    def _disturb(self) -> None:
        at = self.now
        kind = self.random.randrange(5)
        if kind == 0:
            self.serial += 1
            self.take(e.IntentRaised(at=at, id=f"i{self.serial}", intent=Delete(broker=f"b{self.serial}")))
        elif kind == 1 and self.under_way is None:
            self.epoch += 1
            self.take(e.TopologyChanged(at=at, epoch=self.epoch, sha256=self.topology))
        elif kind == 2:
            self.take(e.Failed(at=at, part=self.random.choice(PARTS), reason="it broke"))
        elif kind == 3:
            self.take(e.Recovered(at=at, part=self.random.choice(PARTS)))
        else:
            self._restart()

    def _restart(self) -> None:
        """The process restarts: runs stay in the journal, other work is lost. Sometimes somebody else has
        left a run in the journal."""
        self.waiting = []
        self.under_way = None
        left = self.state.running is None and self.random.random() < 0.2
        self.take(e.Started(at=self.now, interrupted="another's" if left else None))

    def _answer(self) -> None:
        command = self.waiting.pop(self.random.randrange(len(self.waiting)))
        if isinstance(command, c.Probe):
            works = self.random.random() < 0.7
            at, part = self.now, command.part
            self.take(e.Recovered(at=at, part=part) if works else e.Failed(at=at, part=part, reason="still"))
            return
        event = self._result(command)
        if isinstance(command, RUNS):
            if command is self.under_way and not _is_interrupted(event):
                self.under_way = None
            if isinstance(event, e.Deployed):
                self.epoch = event.ended.epoch
        self.take(event)

    def _result(self, command: c.Command) -> e.Event:
        at, ticket = self.now, getattr(command, "ticket", 0)
        if self.random.random() < 0.15:
            part = self.random.choice(("coordination", "deploy")) if isinstance(command, RUNS) else "measure"
            return e.Failed(at=at, part=part, reason="it broke", ticket=ticket)
        match command:
            case c.Measure(start=start, end=end):
                window = Window(id=f"w{start:.0f}", start=start, end=end, publications=1000)
                return e.Measured(at=at, ticket=ticket, window=window)
            case c.Assess(window=window):
                now = compared(0.0)
                seen = compared(self.random.uniform(-0.2, 0.6)) if command.candidate else None
                proposal = compared(self.random.uniform(-0.1, 0.6)) if command.proposal else None
                saved = 10_000.0
                return e.Judged(
                    at=at,
                    ticket=ticket,
                    window=window,
                    current=now,
                    cost=self.random.uniform(500.0, 1500.0),
                    candidate=seen,
                    candidate_saved=saved,
                    proposal=proposal,
                )
            case c.Design(window=window):
                return e.Designed(at=at, ticket=ticket, candidate=self._candidate(window))
            case c.MakePlan() | c.Repair():
                return e.PlanMade(at=at, ticket=ticket, planned=self._planned())
        assert isinstance(command, RUNS)
        return e.Deployed(at=at, ticket=ticket, ended=self._ended())

    def _candidate(self, window: Window) -> Candidate | None:
        if self.random.random() < 0.2:
            return None
        pairs = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
        added, removed = self.random.sample(pairs, 2)
        return Candidate(
            goal=f"g{self.random.random()}",
            initial=self.state.topology or "",
            epoch=self.state.epoch or 0,
            method="made up",
            added=(added,),
            removed=(removed,),
            window=window.id,
            comparison=compared(self.random.uniform(-0.1, 0.6)),
            saved=10_000.0,
        )

    def _planned(self) -> Planned | None:
        if self.random.random() < 0.2:
            return None
        self.serial += 1
        return Planned(
            plan=f"p{self.serial}",
            initial=self.state.topology or "",
            goal="g",
            epoch=self.state.epoch or 0,
            planner="made up",
            steps=2,
            actions=3,
            buffered=1.0,
        )

    def _ended(self) -> Ended:
        state = self.random.choice(("done", "done", "done", "failed", "stopped"))
        epoch = self.epoch + self.random.randint(0, 3)
        return Ended(
            run="1-a",
            state=state,
            reason="" if state == "done" else "a reason",
            back=False,
            reached=state == "done",
            epoch=epoch,
            topology=f"t{epoch}",
            actions=3,
            added=(("a", "b"),),
            removed=(("b", "c"),),
        )


def _is_interrupted(event: e.Event) -> bool:
    return isinstance(event, e.Failed) and event.part == "coordination"


def compared(gain: float) -> Comparison:
    """A comparison that gains this share of the routing cost."""
    now = (Verdict(goal="routing_cost", hard=False, kept=True, reason="", number=100.0),)
    then = (Verdict(goal="routing_cost", hard=False, kept=True, reason="", number=100.0 * (1 - gain)),)
    better = gain > 0.005
    return Comparison(
        now=now,
        then=then,
        improves="routing_cost" if better else None,
        gain=gain if better else 0.0,
        against=None if better else "no goal gets better",
    )


def check_state(state: State) -> str | None:
    """Which rule the state breaks; None if it breaks none."""
    proposal, candidate = state.proposal, state.candidate
    wrong = {
        "a run and the phase deploying belong together": (state.phase == Phase.DEPLOYING)
        != (state.running is not None),
        "Intents are repaired while planning or deploying": bool(state.repairing)
        and state.phase not in (Phase.PLANNING, Phase.DEPLOYING),
        "a proposal is for the current topology": proposal is not None
        and proposal.planned.epoch != state.epoch,
        "a candidate is for the current topology": candidate is not None and candidate.epoch != state.epoch,
        "a candidate ends when it is proposed": proposal is not None and candidate is not None,
        "nothing waits for approval while something is carried out": proposal is not None
        and state.phase == Phase.DEPLOYING,
        "in mode observe a plan is only shown": state.mode == "observe"
        and proposal is not None
        and not proposal.observed,
        "a plan that is only shown is proposed when the loop may act": proposal is not None
        and proposal.observed
        and state.effective_mode != "observe",
        "a loop that fails only observes": bool(state.failing) and state.effective_mode != "observe",
    }
    return next((rule for rule, broken in wrong.items() if broken), None)
