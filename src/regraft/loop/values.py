"""What the loop knows and wants, as values that survive a restart (msgspec Structs)."""

from enum import StrEnum
from typing import Literal

import msgspec

from regraft.loop.judging import Comparison
from regraft.model import Ends
from regraft.model.intents import Intent
from regraft.model.transitions import Transitions

Cause = Literal["traffic", "healing", "person"]


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all values of the loop."""


class Window(Value, frozen=True, kw_only=True):
    """A measured window; its id comes from its start. The runtime keeps what was measured."""

    id: str
    start: float
    end: float
    publications: int

    @property
    def seconds(self) -> float:
        return self.end - self.start


class Candidate(Value, frozen=True, kw_only=True):
    """A topology that would be better than the current one, and in how many consecutive windows it was."""

    goal: str
    """sha256 of the topology."""
    initial: str
    epoch: int
    method: str
    added: tuple[Ends, ...]
    removed: tuple[Ends, ...]
    window: str
    """The id of the window in which it was designed."""
    windows: int = 1
    comparison: Comparison
    """Its comparison with the current topology in the last of those windows."""
    saved: float = 0.0
    """How much of the routing cost it would have saved in the last window."""


class Planned(Value, frozen=True, kw_only=True):
    """A plan, by its sha256. The runtime keeps the plan itself."""

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
    """In how many seconds it saves its price."""
    needed_gain: float = 0.0
    """The least gain that hysteresis required of it."""
    needs_approval: str | None = None
    """Why a person must approve it; None if the loop may carry it out by itself."""
    outside_limits: str | None = None
    """Why automatic mode would not have carried it out by itself when it was made; None: it would have."""
    observed: bool = False
    """The loop only observes: the plan is shown, and nobody can approve it."""
    wanted: tuple["Wanted", ...] = ()
    """Intents of healing that it is for."""


class ProposalState(StrEnum):
    """What becomes of a proposal.

    ● ─┬──the loop only observes──▶ SHOWN ─┬──the loop may act──▶ WAITING
       │                                   ├──it gains too little, or the mode changes──▶ WITHDRAWN
       │                                   └──the topology has changed──▶ STALE
       └─▶ WAITING ─┬──approved by a person, or by the loop within its limits──▶ DEPLOYING
                    ├──rejected by a person──▶ REJECTED
                    ├──it gains too little, or gives way to healing or to another run──▶ WITHDRAWN
                    └──the topology has changed──▶ STALE

    DEPLOYING ─┬──the goal is reached──▶ DONE ──the first window shows the gain──▶ DONE
               ├──▶ FAILED
               └──stopped, or taken back──▶ STOPPED

    The documents that hold these states belong to the runtime, and the run that a restart finds in the
    journal may have no proposal. So the loop itself does not check the table; its simulated world does
    (`regraft.testing.loop_world`), for every proposal that it sees made.
    """

    SHOWN = "would-propose"
    WAITING = "waiting"
    DEPLOYING = "deploying"
    DONE = "done"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    STALE = "stale"
    FAILED = "failed"
    STOPPED = "stopped"


_P = ProposalState
PROPOSAL_STATES = Transitions(
    {_P.SHOWN, _P.WAITING},
    {
        _P.SHOWN: {_P.WAITING, _P.WITHDRAWN, _P.STALE},
        _P.WAITING: {_P.DEPLOYING, _P.REJECTED, _P.WITHDRAWN, _P.STALE},
        _P.DEPLOYING: {_P.DONE, _P.FAILED, _P.STOPPED},
        _P.DONE: {_P.DONE},
        _P.REJECTED: {},
        _P.WITHDRAWN: {},
        _P.STALE: {},
        _P.FAILED: {},
        _P.STOPPED: {},
    },
)
ENDED = frozenset(_P) - {_P.SHOWN, _P.WAITING, _P.DEPLOYING}
"""States in which nothing more can be asked of a proposal."""


class Running(Value, frozen=True, kw_only=True):
    """The run under way. `plan` is None if it takes the last run back."""

    plan: str | None
    cause: Cause
    by: str
    began: float
    back: bool = False
    actions: int = 0
    stopping: str | None = None
    """Why it was asked to stop."""
    interrupted: bool = False
    """Coordination has failed since it began: it continues when coordination works again."""
    proposal: Proposal | None = None


class Expected(Value, frozen=True, kw_only=True):
    """What a change should gain; checked in the first whole window after it."""

    plan: str
    goal: str
    gain: float
    cost_before: float
    """Routing cost per publication, in the window in which the change was decided."""
    after: float


class RememberedChange(Value, frozen=True, kw_only=True):
    """A change of the topology that is remembered, so that it is not undone lightly."""

    at: float
    added: tuple[Ends, ...]
    removed: tuple[Ends, ...]


class Spent(Value, frozen=True, kw_only=True):
    """A part of the hourly budget that a run has used."""

    at: float
    actions: int


class Wanted(Value, frozen=True, kw_only=True):
    """An Intent of healing that waits to be carried out."""

    id: str
    intent: Intent
    at: float


class Trouble(Value, frozen=True, kw_only=True):
    """A part that fails. `lifted`: it may be tried again."""

    part: str
    reason: str
    since: float
    failures: int
    retry_at: float
    lifted: bool = False


class Ended(Value, frozen=True, kw_only=True):
    """How a run ended; `reached`: the topology is the one that it was meant to lead to."""

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
