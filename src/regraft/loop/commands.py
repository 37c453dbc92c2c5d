"""What the loop wants done. Commands with a ticket are answered by an event with the same ticket."""

from typing import Literal

import msgspec

from regraft.loop.decisions import Decision
from regraft.loop.values import Candidate, Proposal, Running, Wanted, Window

Settled = Literal[
    "waiting", "approved", "deploying", "done", "rejected", "withdrawn", "stale", "failed", "stopped"
]


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Root of them."""


class Measure(Command, frozen=True, kw_only=True):
    """The window from `start` to `end` (seconds since 1970) → Measured, Failed."""

    ticket: int
    start: float
    end: float


class Assess(Command, frozen=True, kw_only=True):
    """The topology of now, and these against it, in this window → Judged, Failed."""

    ticket: int
    window: Window
    candidate: Candidate | None = None
    proposal: Proposal | None = None


class Design(Command, frozen=True, kw_only=True):
    """A better topology for the traffic of so many windows, judged in the last → Designed, Failed."""

    ticket: int
    window: Window
    windows: int
    max_actions: int | None = None


class MakePlan(Command, frozen=True, kw_only=True):
    """From the topology of now to the candidate's → PlanMade, Failed."""

    ticket: int
    candidate: Candidate


class Repair(Command, frozen=True, kw_only=True):
    """What healing wants, as a plan → PlanMade, Failed."""

    ticket: int
    wanted: tuple[Wanted, ...]


class Deploy(Command, frozen=True, kw_only=True):
    """Carry it out → Deployed, Failed."""

    ticket: int
    running: Running


class Resume(Command, frozen=True, kw_only=True):
    """Go on with the run in the journal → Deployed, Failed."""

    ticket: int
    running: Running


class StopRun(Command, frozen=True, kw_only=True):
    """The run under way is to stop after the changes that have begun; or to be taken back."""

    reason: str
    back: bool = False


class Probe(Command, frozen=True, kw_only=True):
    """Does the part work again? → Recovered, Failed."""

    part: str


class Propose(Command, frozen=True, kw_only=True):
    """Show it to whoever may approve it."""

    proposal: Proposal


class Settle(Command, frozen=True, kw_only=True):
    """A proposal is in another state now."""

    plan: str
    state: Settled
    reason: str
    measured_gain: float | None = None


class Answer(Command, frozen=True, kw_only=True):
    """What became of Intents, for healing."""

    intents: tuple[str, ...]
    done: bool
    reason: str


class Log(Command, frozen=True, kw_only=True):
    decision: Decision
