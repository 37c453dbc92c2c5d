"""Where the loop is. One value, replaced by every step; it survives a restart as JSON.

What is under way is the `phase` (`phases` has the table). What outlives a phase has fields of its own: a
proposal may wait for hours while windows are measured, and a topology cools down while it is verified.
"""

import msgspec

from regraft.loop.phases import Phase
from regraft.loop.policy import Mode, Policy
from regraft.loop.values import (
    Candidate,
    Expected,
    Proposal,
    RememberedChange,
    Running,
    Spent,
    Trouble,
    Wanted,
    Window,
)


class State(msgspec.Struct, frozen=True, kw_only=True):
    """`ticket` numbers the command under way; `due` is when the next window is measured."""

    policy: Policy
    mode: Mode = "propose"
    configured: Mode = "propose"
    """The mode of the configuration; somebody may have set another since."""
    phase: Phase = Phase.WAITING
    since: float = 0.0
    ticket: int = 0
    due: float = 0.0
    window: Window | None = None
    """The last window that was measured."""
    cost: float | None = None
    """Routing cost of the last window."""
    epoch: int | None = None
    topology: str | None = None
    paused: str | None = None
    candidate: Candidate | None = None
    proposal: Proposal | None = None
    repairing: tuple[Wanted, ...] = ()
    """Intents that are being planned or carried out."""
    wanted: tuple[Wanted, ...] = ()
    """Intents that wait to be planned."""
    running: Running | None = None
    expected: Expected | None = None
    cooling_until: float = 0.0
    memory: tuple[RememberedChange, ...] = ()
    spent: tuple[Spent, ...] = ()
    troubles: dict[str, Trouble] = {}
    settled: tuple[tuple[str, str], ...] = ()
    """The last proposals and how each ended, to tell a person who approves one too late."""

    @property
    def failing(self) -> tuple[Trouble, ...]:
        """Parts that fail and are not to be tried again yet."""
        return tuple(each for each in self.troubles.values() if not each.lifted)

    @property
    def effective_mode(self) -> Mode:
        return self.mode if self.only_observes is None else "observe"

    @property
    def only_observes(self) -> str | None:
        """Why the loop changes nothing, whatever it finds; None: it may change something."""
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
