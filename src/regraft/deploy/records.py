"""What the nodes of the journal hold (IPITT §IV-C, Figure 4), and who writes them.

| node | record | written by |
|---|---|---|
| topology | Current | the deployer, when a change is over |
| plan | Run | the deployer; anyone who wants it paused or stopped writes its `wanted` |
| plan/steps/S/actions/A | Doing | the deployer; the decision, any agent that takes part |
| brokers/ID/command | Command | the deployer |
| brokers/ID/status | Status | the broker's agent |

A decision is one compare-and-set of `Doing.state`, from preparing to committed or aborted. It is made once,
by the first agent that sees a reason for it, and every agent or broker that restarts finds it there. The
tables of the states are in `states`.
"""

from typing import NamedTuple

import msgspec

from regraft.coord import Record
from regraft.deploy.states import ACTION_STATES, RUN_STATES, ActionState, Reported, RunOrder, RunState
from regraft.model import Action


class LinkChange(NamedTuple):
    """One elementary change of links; its `id` is the same for all processes and is never used again."""

    id: str
    operation: str
    brokers: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.operation}({', '.join(self.brokers)})"


class Current(Record, frozen=True, kw_only=True):
    """The current topology of the overlay; `epoch` grows with every change."""

    epoch: int
    kind: str
    brokers: list[str]
    links: list[tuple[str, str]]


class Run(Record, frozen=True, kw_only=True):
    """One execution of a plan. `steps` are its actions; `back`: they undo those of an earlier run."""

    id: str
    """A number, higher than that of any run before, and random digits: `7-4f2a91c0`."""
    sha256: str
    kind: str
    steps: list[list[tuple[str, ...]]]
    state: RunState = RunState.RUNNING
    step: int = 1
    """The step that is being carried out, from 1."""
    wanted: RunOrder = RunOrder.RUN
    back: bool = False
    epoch: int = 0
    """The epoch of the topology that it began with."""
    seconds: float = 10.0
    """How long a change may take to be ready; after that it is aborted and tried again."""
    attempts: int = 3
    at_once: int = 0
    """Changes at a time, 0: no limit."""
    per_broker: int = 0
    gives_way: bool = False
    """A repair of the overlay may stop it."""
    reason: str = ""

    def become(self, state: RunState, **fields: object) -> "Run":
        """The run in another state; `IllegalTransition` if it cannot follow."""
        RUN_STATES.checked((self.state,), state, f"run {self.id}")
        return msgspec.structs.replace(self, state=state, **fields)


class Doing(Record, frozen=True, kw_only=True):
    """One action, as the changes that carry it out, one after the other."""

    action: tuple[str, ...]
    changes: list[tuple[str, ...]]
    run: str
    name: str
    """Step and number in it, e.g. 2.1."""
    at: int = 0
    """Which of the changes is next or under way, from 0."""
    attempt: int = 1
    state: ActionState = ActionState.PENDING
    seconds: float = 10.0
    reason: str = ""
    begun: float = 0.0
    ended: float = 0.0

    @property
    def change(self) -> LinkChange:
        operation, *brokers = self.changes[self.at]
        return LinkChange(f"{self.run}:{self.name}:{self.at + 1}:{self.attempt}", operation, tuple(brokers))

    def become(self, state: ActionState, **fields: object) -> "Doing":
        """The action in another state; `IllegalTransition` if it cannot follow."""
        ACTION_STATES.checked((self.state,), state, f"action {self.name} of run {self.run}")
        return msgspec.structs.replace(self, state=state, **fields)


class Command(Record, frozen=True, kw_only=True):
    """The nodes of the actions in which the broker takes part now."""

    actions: tuple[str, ...] = ()
    begun: dict[str, Doing] = msgspec.field(default_factory=dict)
    """The actions as they were when they were commanded, so that no agent has to wait for their nodes."""


class Stage(Record, frozen=True, kw_only=True):
    stage: Reported
    reason: str = ""
    milliseconds: float = 0.0
    """The time since the agent first heard of the change."""


class Status(Record, frozen=True, kw_only=True):
    """How far the broker is with each change, by its id, and where it can be reached."""

    host: str = ""
    port: int = 0
    life: int = 0
    changes: dict[str, Stage] = msgspec.field(default_factory=dict)

    def stage(self, id: str) -> Reported:
        return self.changes[id].stage if id in self.changes else Reported.NOTHING


def action_of(doing: Doing) -> Action:
    return Action(doing.action[0], tuple(doing.action[1:]))


def run_number(id: str) -> int:
    """The number in a run's id: of two runs, the later one has the higher number."""
    number = id.partition("-")[0]
    return int(number) if number.isdecimal() else 0
