"""What the loop knows and wants, as values that survive a restart (msgspec Structs)."""

from typing import Literal

import msgspec

from regraft.loop.judging import Comparison
from regraft.model import Ends
from regraft.model.intents import Intent

Cause = Literal["traffic", "healing", "person"]


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """Root of them."""


class Window(Value, frozen=True, kw_only=True):
    """A measured window, by its start; what it holds is with the shell."""

    id: str
    start: float
    end: float
    publications: int

    @property
    def seconds(self) -> float:
        return self.end - self.start


class Candidate(Value, frozen=True, kw_only=True):
    """A topology that would be better, and in how many windows in a row it was."""

    goal: str
    """sha256 of the topology."""
    initial: str
    epoch: int
    method: str
    added: tuple[Ends, ...]
    removed: tuple[Ends, ...]
    window: str
    """That it was designed in."""
    windows: int = 1
    comparison: Comparison
    """In the last of them."""
    saved: float = 0.0
    """Of the routing cost, in the last window."""


class Planned(Value, frozen=True, kw_only=True):
    """A plan, by its sha256; the plan itself is with the shell."""

    plan: str
    initial: str
    goal: str
    epoch: int
    planner: str
    steps: int
    actions: int
    buffered: float
    """Messages that are expected to wait while it is carried out."""


class Proposal(Value, frozen=True, kw_only=True):
    """A plan that the loop wants carried out."""

    planned: Planned
    cause: Cause
    made_at: float
    candidate: Candidate | None = None
    price: float = 0.0
    pays_back_after: float | None = None
    """Seconds."""
    needed_gain: float = 0.0
    """The least gain that hysteresis has asked of it."""
    needs_approval: str | None = None
    """Why a person is asked. None: nobody is."""
    outside_limits: str | None = None
    """Why automatic mode would not have carried it out by itself when it was made; None: it would."""
    observed: bool = False
    """The loop only observes: the plan is shown, and nobody can approve it."""
    wanted: tuple["Wanted", ...] = ()
    """Intents of healing that it is for."""


class Running(Value, frozen=True, kw_only=True):
    """What is being carried out. `plan` is None when the last run is taken back."""

    plan: str | None
    cause: Cause
    by: str
    began: float
    back: bool = False
    actions: int = 0
    stopping: str | None = None
    """Why it was asked to stop."""
    interrupted: bool = False
    """Coordination failed meanwhile: it goes on when that works again."""
    proposal: Proposal | None = None


class Expected(Value, frozen=True, kw_only=True):
    """What a change should have brought; looked at in the first whole window after it."""

    plan: str
    goal: str
    gain: float
    cost_before: float
    """Per publication, in the window that it was decided in."""
    after: float


class Change(Value, frozen=True, kw_only=True):
    """A change of the topology that is remembered, so that it is not undone lightly."""

    at: float
    added: tuple[Ends, ...]
    removed: tuple[Ends, ...]


class Spent(Value, frozen=True, kw_only=True):
    """Of the budget of an hour."""

    at: float
    actions: int


class Wanted(Value, frozen=True, kw_only=True):
    """An Intent of healing that waits to be carried out."""

    id: str
    intent: Intent
    at: float


class Trouble(Value, frozen=True, kw_only=True):
    """A part that fails. `lifted`: the time has come to try it again."""

    part: str
    reason: str
    since: float
    failures: int
    retry_at: float
    lifted: bool = False


class Ended(Value, frozen=True, kw_only=True):
    """What became of a run; `reached`: the topology is the one it was to lead to."""

    run: str
    state: str
    reason: str
    back: bool
    reached: bool
    epoch: int
    topology: str
    actions: int
    added: tuple[Ends, ...] = ()
    removed: tuple[Ends, ...] = ()
    seconds: float = 0.0
    lost: int | None = None
    duplicated: int | None = None
    reordered: int | None = None
