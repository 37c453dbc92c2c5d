"""What the loop wants done. Commands with a ticket are answered by an event with the same ticket."""

import msgspec

from regraft.loop.decisions import Decision
from regraft.loop.values import Candidate, Proposal, ProposalState, Running, Wanted, Window


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all commands."""


class Measure(Command, frozen=True, kw_only=True):
    """Measure the window from `start` to `end` (seconds since 1970) → Measured, Failed."""

    ticket: int
    start: float
    end: float


class Assess(Command, frozen=True, kw_only=True):
    """Judge the current topology in this window, and compare these two with it → Judged, Failed."""

    ticket: int
    window: Window
    candidate: Candidate | None = None
    proposal: Proposal | None = None


class Design(Command, frozen=True, kw_only=True):
    """Find a better topology for the traffic of the last `windows` windows, judged in the last one
    → Designed, Failed."""

    ticket: int
    window: Window
    windows: int
    max_actions: int | None = None


class MakePlan(Command, frozen=True, kw_only=True):
    """Plan the way from the current topology to the candidate's → PlanMade, Failed."""

    ticket: int
    candidate: Candidate


class Repair(Command, frozen=True, kw_only=True):
    """Plan what healing wants → PlanMade, Failed."""

    ticket: int
    wanted: tuple[Wanted, ...]


class Deploy(Command, frozen=True, kw_only=True):
    """Carry the plan out → Deployed, Failed."""

    ticket: int
    running: Running


class Resume(Command, frozen=True, kw_only=True):
    """Continue the run in the journal → Deployed, Failed."""

    ticket: int
    running: Running


class StopRun(Command, frozen=True, kw_only=True):
    """Stop the run under way after the changes that have begun; `back`: take it back."""

    reason: str
    back: bool = False


class Probe(Command, frozen=True, kw_only=True):
    """Find out whether the part works again → Recovered, Failed."""

    part: str


class Propose(Command, frozen=True, kw_only=True):
    """Show the proposal to the people who may approve it."""

    proposal: Proposal


class Settle(Command, frozen=True, kw_only=True):
    """Record that a proposal has entered another state."""

    plan: str
    state: ProposalState
    reason: str
    measured_gain: float | None = None


class AnswerIntents(Command, frozen=True, kw_only=True):
    """Tell healing whether its Intents were carried out."""

    intents: tuple[str, ...]
    done: bool
    reason: str


class Log(Command, frozen=True, kw_only=True):
    """Write the decision into the decision log."""

    decision: Decision
