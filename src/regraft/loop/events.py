"""What happens to the loop. `at` is when, in seconds since 1970; `ticket` names the command that it answers.

An answer to a command that was given up in the meantime has an old ticket, and is ignored.
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
    """The runtime has started (again). Nothing is under way any more, except perhaps a run in the journal."""

    interrupted: str | None = None
    """sha256 of the plan whose run is in the journal and has not ended."""


class Tick(Event, frozen=True, kw_only=True):
    """Time has passed."""


class Measured(Event, frozen=True, kw_only=True):
    ticket: int
    window: Window


class Judged(Event, frozen=True, kw_only=True):
    """The current topology in this window, and the candidate and the proposal, if any, compared with it."""

    ticket: int
    window: Window
    current: Comparison
    """The current topology compared with itself, for its verdicts."""
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
    """Somebody told the run under way to stop, to pause or to continue. The deployer was told before."""

    wanted: Literal["stop", "pause", "run"]
    by: str


class Deployed(Event, frozen=True, kw_only=True):
    """A run is at rest, however it ended."""

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
    """The network reports its current topology, which somebody else may have changed."""

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
