"""What happens to the loop. `at` is when, in seconds since 1970; `ticket` names the command that it answers.

An answer to a command that was given up meanwhile has an old ticket, and is passed over.
"""

from typing import Literal

import msgspec

from regraft.loop.judging import Comparison
from regraft.loop.policy import Mode
from regraft.loop.values import Candidate, Ended, Planned, Window
from regraft.model.intents import Intent


class Event(msgspec.Struct, frozen=True, kw_only=True):
    at: float


class Started(Event, frozen=True, kw_only=True):
    """The shell runs (again): whatever was under way is not any more, except a run in the journal."""

    interrupted: str | None = None
    """sha256 of the plan of a run that is in the journal and has not ended."""


class Tick(Event, frozen=True, kw_only=True):
    """Time has passed."""


class Measured(Event, frozen=True, kw_only=True):
    ticket: int
    window: Window


class Judged(Event, frozen=True, kw_only=True):
    """The topology of now in this window; the candidate and the proposal, if there are any, against it."""

    ticket: int
    window: Window
    current: Comparison
    """With itself: its verdicts."""
    cost: float | None = None
    """Routing cost of the window."""
    candidate: Comparison | None = None
    candidate_saved: float = 0.0
    proposal: Comparison | None = None


class Designed(Event, frozen=True, kw_only=True):
    """A candidate, or why there is none."""

    ticket: int
    candidate: Candidate | None = None
    reason: str = ""


class PlanMade(Event, frozen=True, kw_only=True):
    ticket: int
    planned: Planned | None = None
    reason: str = ""


class Approved(Event, frozen=True, kw_only=True):
    plan: str
    by: str


class Rejected(Event, frozen=True, kw_only=True):
    plan: str
    by: str
    reason: str


class BackAsked(Event, frozen=True, kw_only=True):
    """Somebody wants the last run taken back."""

    by: str


class RunAsked(Event, frozen=True, kw_only=True):
    """Somebody has told the run under way to stop, to pause or to go on; it has been asked to already."""

    wanted: Literal["stop", "pause", "run"]
    by: str


class Deployed(Event, frozen=True, kw_only=True):
    """A run is at rest, whatever became of it."""

    ticket: int
    ended: Ended


class Failed(Event, frozen=True, kw_only=True):
    """A part does not work. With a ticket: what that command asked for was not done."""

    part: str
    reason: str
    ticket: int | None = None


class Recovered(Event, frozen=True, kw_only=True):
    part: str


class IntentRaised(Event, frozen=True, kw_only=True):
    id: str
    intent: Intent


class TopologyChanged(Event, frozen=True, kw_only=True):
    """The topology is this one now; who changed it may have been somebody else."""

    epoch: int
    sha256: str


class Paused(Event, frozen=True, kw_only=True):
    by: str
    reason: str


class Resumed(Event, frozen=True, kw_only=True):
    by: str


class ModeSet(Event, frozen=True, kw_only=True):
    mode: Mode
    by: str
