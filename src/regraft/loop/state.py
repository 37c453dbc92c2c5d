"""Where the loop is. One value, replaced by every step; it survives a restart as JSON.

What is under way is the `phase`; what outlives it has fields of its own, because a proposal may wait for
hours while windows are measured, and a topology cools down while it is verified.

    waiting ── window over ──> measuring ──> judging ──> designing ──> planning ──> deploying ──> waiting
                                   │             │            │            │
                                   └─ quiet ─────┴─ kept ─────┴─ no gain ──┴─ proposed: waits for approval
                                                                           └─ observed: only shown

A loop that only observes goes as far as the plan, which is shown and cannot be approved. As soon as the loop
may do more, the same plan is proposed, if it still gains.

Each answer has one phase in which it is taken (`TAKEN_IN`). An Intent of healing may come at any time: work
on the traffic is given up for it, and a run on its behalf is asked to stop.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from regraft.loop import events
from regraft.loop.policy import Mode, Policy
from regraft.loop.values import (
    Candidate,
    Change,
    Expected,
    Proposal,
    Running,
    Spent,
    Trouble,
    Wanted,
    Window,
)

Phase = Literal["waiting", "measuring", "judging", "designing", "planning", "deploying"]

TAKEN_IN: Mapping[type[events.Event], Phase] = {
    events.Measured: "measuring",
    events.Judged: "judging",
    events.Designed: "designing",
    events.PlanMade: "planning",
    events.Deployed: "deploying",
}


class State(msgspec.Struct, frozen=True, kw_only=True):
    """`ticket` numbers the command under way; `due` is when the next window is measured."""

    policy: Policy
    mode: Mode = "propose"
    configured: Mode = "propose"
    """The mode of the configuration; somebody may have set another since."""
    phase: Phase = "waiting"
    since: float = 0.0
    ticket: int = 0
    due: float = 0.0
    window: Window | None = None
    """The last one that was measured."""
    cost: float | None = None
    """Routing cost of that window."""
    epoch: int | None = None
    topology: str | None = None
    paused: str | None = None
    candidate: Candidate | None = None
    proposal: Proposal | None = None
    repairing: tuple[Wanted, ...] = ()
    """Intents that are being planned or carried out."""
    wanted: tuple[Wanted, ...] = ()
    """Intents that wait."""
    running: Running | None = None
    expected: Expected | None = None
    cooling_until: float = 0.0
    memory: tuple[Change, ...] = ()
    spent: tuple[Spent, ...] = ()
    troubles: dict[str, Trouble] = {}
    settled: tuple[tuple[str, str], ...] = ()
    """The last proposals, and what became of each: an approval that comes late is told."""

    @property
    def failing(self) -> tuple[Trouble, ...]:
        """Parts that fail, and whose time to be tried again has not come."""
        return tuple(each for each in self.troubles.values() if not each.lifted)

    @property
    def effective_mode(self) -> Mode:
        return self.mode if self.only_observes is None else "observe"

    @property
    def only_observes(self) -> str | None:
        """Why the loop changes nothing, whatever it finds; None: it may."""
        if self.mode == "observe":
            return "the mode is observe"
        if self.paused is not None:
            return "it is paused"
        return "a part fails" if self.failing else None


def first_state(policy: Policy, mode: Mode, at: float) -> State:
    """Nothing is known yet; the first window is the first whole one after `at`."""
    due = next_end(at, policy) + policy.settle_seconds
    return State(policy=policy, mode=mode, configured=mode, since=at, due=due)


def next_end(at: float, policy: Policy) -> float:
    """The end of the first window that begins at or after `at`."""
    width = policy.window_seconds
    begun = -(-at // width) * width
    return begun + width
