"""What the core is told by its shell."""

from collections.abc import Mapping
from dataclasses import dataclass

from regraft.heal.monitor import Sample
from regraft.heal.owner import Owner
from regraft.heal.rules import Checked
from regraft.heal.wire.messages import Message
from regraft.model import Topology, facts


@dataclass(frozen=True, slots=True)
class Connected:
    """To the manager of this node; it has said who it is."""

    node: str


@dataclass(frozen=True, slots=True)
class Disconnected:
    node: str


@dataclass(frozen=True, slots=True)
class Heard:
    node: str
    message: Message


@dataclass(frozen=True, slots=True)
class OwnerSeen:
    broker: str
    owner: Owner


@dataclass(frozen=True, slots=True)
class TopologySeen:
    topology: Topology


@dataclass(frozen=True, slots=True)
class RulesSeen:
    rules: Checked


@dataclass(frozen=True, slots=True)
class LinksSeen:
    """The neighbours of each broker in this process, and those to which messages have gone since the last
    time. To be told every `LINKS_SECONDS`."""

    neighbours: Mapping[str, frozenset[str]]
    busy: frozenset[str] = frozenset()


LINKS_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures of this process."""

    sample: Sample


@dataclass(frozen=True, slots=True)
class Raised:
    """A person or a program has raised an event; `Judged` with this number says that it has been judged."""

    number: int
    event: facts.Event


@dataclass(frozen=True, slots=True)
class DeputyLost:
    """This deputy does not run here any longer."""

    broker: str


@dataclass(frozen=True, slots=True)
class Answered:
    number: int
    answer: object


@dataclass(frozen=True, slots=True)
class Failed:
    number: int
    fault: Exception


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


Event = (
    Connected
    | Disconnected
    | Heard
    | OwnerSeen
    | TopologySeen
    | RulesSeen
    | LinksSeen
    | Measured
    | Raised
    | DeputyLost
    | Answered
    | Failed
    | Tick
)
