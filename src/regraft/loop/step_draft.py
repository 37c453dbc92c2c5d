"""A step of the loop in progress: the state and the commands so far, which its handlers change."""

import msgspec

from regraft.loop.commands import Command, Log, Settle
from regraft.loop.decisions import Decision
from regraft.loop.phases import PHASES, Phase
from regraft.loop.policy import Policy
from regraft.loop.state import State
from regraft.loop.values import ENDED, ProposalState
from regraft.model.transitions import Machine

KEPT = 50
"""How many settled proposals are remembered."""


class StepDraft:
    """It exists during one step only; `end` returns what the step returns."""

    def __init__(self, state: State, at: float) -> None:
        self.state = state
        self.at = at
        self.commands: list[Command] = []
        self._phases: tuple[Phase, ...] = (state.phase,)
        """The phases of this step, for the message about an illegal transition."""

    @property
    def policy(self) -> Policy:
        return self.state.policy

    def set(self, **fields: object) -> None:
        self.state = msgspec.structs.replace(self.state, **fields)

    def enter(self, phase: Phase) -> int:
        """Enter a phase. Returns the ticket for its command; the command before it is given up."""
        PHASES.checked(self._phases, phase, "the loop")
        self._phases = (*self._phases, phase)
        return self._set_phase(phase)

    def begin(self, phase: Phase) -> int:
        """Enter the first phase of this process, whatever phase the previous process was in."""
        self._phases = Machine(PHASES, phase, "the loop").history
        return self._set_phase(phase)

    def _set_phase(self, phase: Phase) -> int:
        self.set(phase=phase, since=self.at, ticket=self.state.ticket + 1)
        return self.state.ticket

    def do(self, command: Command) -> None:
        self.commands.append(command)

    def log(
        self,
        kind: str,
        text: str,
        *,
        by: str = "loop",
        acted: bool = False,
        plan: str | None = None,
        numbers: dict[str, float | None] | None = None,
    ) -> None:
        window = self.state.window.id if self.state.window else None
        decision = Decision(
            at=self.at,
            kind=kind,
            text=text,
            by=by,
            acted=acted,
            window=window,
            plan=plan,
            numbers=numbers or {},
        )
        self.do(Log(decision=decision))

    def settle(self, plan: str, state: ProposalState, reason: str) -> None:
        """A proposal is in another state; how it ended is remembered."""
        self.do(Settle(plan=plan, state=state, reason=reason))
        if state in ENDED:
            others = tuple(each for each in self.state.settled if each[0] != plan)
            self.set(settled=(*others, (plan, state))[-KEPT:])

    def withdraw(self, reason: str, state: ProposalState = ProposalState.WITHDRAWN) -> None:
        """The current proposal, if there is one, is no longer valid; its Intents wait for another plan."""
        proposal = self.state.proposal
        if proposal is None:
            return
        plan = proposal.planned.plan
        self.set(proposal=None, wanted=(*proposal.wanted, *self.state.wanted))
        self.settle(plan, state, reason)
        self.log("withdrawn", f"the proposal {plan[:12]} is withdrawn: {reason}", plan=plan)

    def end(self) -> tuple[State, tuple[Command, ...]]:
        return self.state, tuple(self.commands)
