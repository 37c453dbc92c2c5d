"""What the core wants its shell to do, in this order."""

from dataclasses import dataclass
from typing import Any

from regraft.heal.core.tasks import Request
from regraft.heal.wire.messages import Message


@dataclass(frozen=True, slots=True)
class Tell:
    """Send this to the manager of the node, which may have to be dialled first; it may be lost."""

    node: str
    message: Message


@dataclass(frozen=True, slots=True)
class KeepConnection:
    """Keep a connection to the manager of this node from now on."""

    node: str


@dataclass(frozen=True, slots=True)
class DropConnection:
    node: str


@dataclass(frozen=True, slots=True)
class Follow:
    """Follow the owners of these brokers; each change is an event `OwnerSeen`."""

    brokers: frozenset[str]


@dataclass(frozen=True, slots=True)
class DialBroker:
    """The brokers of this process dial this one now, if it is their neighbour."""

    broker: str


@dataclass(frozen=True, slots=True)
class SendClientsAway:
    """The clients of this broker, which runs here, have to go elsewhere for a while."""

    broker: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Do:
    """Carry the request out and answer with its number: `Answered`, or `Failed`."""

    number: int
    request: Request[Any]


@dataclass(frozen=True, slots=True)
class Forget:
    """Cancel the request: its answer is not needed any more."""

    number: int


@dataclass(frozen=True, slots=True)
class Judged:
    """The event that was raised with this number has been judged."""

    number: int


@dataclass(frozen=True, slots=True)
class Joined:
    """Our own broker is in the overlay."""


@dataclass(frozen=True, slots=True)
class Left:
    """Our own broker has left the overlay."""


@dataclass(frozen=True, slots=True)
class Note:
    """For the log of the process."""

    text: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """An exception that nothing caught: a bug of ours. Everything else continues."""

    fault: Exception


Effect = (
    Tell
    | KeepConnection
    | DropConnection
    | Follow
    | DialBroker
    | SendClientsAway
    | Do
    | Forget
    | Judged
    | Joined
    | Left
    | Note
    | Broken
)
