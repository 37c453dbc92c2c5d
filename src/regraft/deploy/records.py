"""What the nodes of the journal hold (IPITT §IV-C, Figure 4), and who writes them.

| node | record | written by |
|---|---|---|
| topology | Current | the deployer, when a change is over |
| plan | Run | the deployer; who wants it paused or stopped, its `wanted` |
| plan/steps/S/actions/A | Doing | the deployer; its decision by any agent that takes part |
| brokers/ID/command | Command | the deployer |
| brokers/ID/status | Status | the broker's agent |

A decision is one compare-and-set of `Doing.state`, from preparing to committed or aborted: it is made once,
by whoever sees a reason for it, and everybody who comes back from a crash finds it.
"""

from typing import NamedTuple

import msgspec

from regraft.coord import Record
from regraft.model import Action

PENDING, PREPARING, COMMITTED, ABORTED, DONE = "pending", "preparing", "committed", "aborted", "done"
READY, REFUSED = "ready", "refused"
RUNNING, FAILED, STOPPED = "running", "failed", "stopped"
RUN, PAUSE, STOP, ROLL_BACK = "run", "pause", "stop", "roll back"


class Change(NamedTuple):
    """One elementary change of links; `id` names it for everybody, for ever."""

    id: str
    operation: str
    brokers: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.operation}({', '.join(self.brokers)})"


class Current(Record, frozen=True, kw_only=True):
    """The topology that the overlay has; `epoch` grows with every change."""

    epoch: int
    kind: str
    brokers: list[str]
    links: list[tuple[str, str]]


class Run(Record, frozen=True, kw_only=True):
    """One execution of a plan. `steps` are its actions; `back`: those of an earlier run are taken back."""

    id: str
    """Its number, higher than that of any run before, and something to recognise it by: `7-4f2a91c0`."""
    sha256: str
    kind: str
    steps: list[list[tuple[str, ...]]]
    state: str = RUNNING
    step: int = 1
    """That is being carried out, from 1."""
    wanted: str = RUN
    back: bool = False
    epoch: int = 0
    """Of the topology that it began with."""
    seconds: float = 10.0
    """For one change to be ready; then it is aborted and tried again."""
    attempts: int = 3
    at_once: int = 0
    """Changes at a time, 0: no limit."""
    per_broker: int = 0
    gives_way: bool = False
    """Whoever has to mend the overlay may stop it."""
    reason: str = ""


class Doing(Record, frozen=True, kw_only=True):
    """One action, as the changes that carry it out, one after the other."""

    action: tuple[str, ...]
    changes: list[tuple[str, ...]]
    run: str
    name: str
    """Step and number, e.g. 2.1."""
    at: int = 0
    """Which of the changes."""
    attempt: int = 1
    state: str = PENDING
    seconds: float = 10.0
    reason: str = ""
    begun: float = 0.0
    ended: float = 0.0

    @property
    def change(self) -> Change:
        operation, *brokers = self.changes[self.at]
        return Change(f"{self.run}:{self.name}:{self.at + 1}:{self.attempt}", operation, tuple(brokers))

    def next(self, **fields: object) -> "Doing":
        return msgspec.structs.replace(self, **fields)


class Command(Record, frozen=True, kw_only=True):
    """Nodes of the actions in which the broker takes part now."""

    actions: tuple[str, ...] = ()
    begun: dict[str, Doing] = msgspec.field(default_factory=dict)
    """As they were when they were commanded: who reads the command need not wait for the nodes."""


class Stage(Record, frozen=True, kw_only=True):
    stage: str
    reason: str = ""
    milliseconds: float = 0.0
    """Since the agent was told."""


class Status(Record, frozen=True, kw_only=True):
    """How far the broker is with each change, by its id, and where it can be reached."""

    host: str = ""
    port: int = 0
    life: int = 0
    changes: dict[str, Stage] = msgspec.field(default_factory=dict)

    def stage(self, id: str) -> str:
        return self.changes[id].stage if id in self.changes else ""


def action_of(doing: Doing) -> Action:
    return Action(doing.action[0], tuple(doing.action[1:]))


def run_number(id: str) -> int:
    """Of two runs, the later has the higher one."""
    number = id.partition("-")[0]
    return int(number) if number.isdecimal() else 0
