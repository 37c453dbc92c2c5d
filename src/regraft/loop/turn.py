"""One step while it is made: the state so far and the commands so far. Never leaves the step."""

import msgspec

from regraft.loop.commands import Command, Log, Settle, Settled
from regraft.loop.decisions import Decision
from regraft.loop.policy import Policy
from regraft.loop.state import Phase, State

KEPT = 50
"""Settled proposals that are remembered."""


class Turn:
    def __init__(self, state: State, at: float) -> None:
        self.state = state
        self.at = at
        self.commands: list[Command] = []

    @property
    def policy(self) -> Policy:
        return self.state.policy

    def set(self, **fields: object) -> None:
        self.state = msgspec.structs.replace(self.state, **fields)

    def go(self, phase: Phase) -> int:
        """Into a phase; the ticket of the command that belongs to it. What was under way is given up."""
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

    def settle(self, plan: str, state: Settled, reason: str) -> None:
        """A proposal is in another state; at its end, that is remembered."""
        self.do(Settle(plan=plan, state=state, reason=reason))
        if state not in ("waiting", "approved", "deploying"):
            others = tuple(each for each in self.state.settled if each[0] != plan)
            self.set(settled=(*others, (plan, state))[-KEPT:])

    def withdraw(self, reason: str, state: Settled = "withdrawn") -> None:
        """The proposal that waits, if there is one, is no longer any good; Intents behind it wait on."""
        proposal = self.state.proposal
        if proposal is None:
            return
        plan = proposal.planned.plan
        self.set(proposal=None, wanted=(*proposal.wanted, *self.state.wanted))
        self.settle(plan, state, reason)
        self.log("withdrawn", f"the proposal {plan[:12]} is withdrawn: {reason}", plan=plan)

    def end(self) -> tuple[State, tuple[Command, ...]]:
        return self.state, tuple(self.commands)
