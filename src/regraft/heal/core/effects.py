"""What the core wants its shell to do, in this order."""

from dataclasses import dataclass
from typing import Any

from regraft.heal.core.tasks import Request
from regraft.heal.wire.messages import Message


@dataclass(frozen=True, slots=True)
class Tell:
    """The manager of this node; it may be called for that, and nobody knows whether it arrives."""

    node: str
    message: Message


@dataclass(frozen=True, slots=True)
class Keep:
    """Be connected to the manager of this node from now on."""

    node: str


@dataclass(frozen=True, slots=True)
class Drop:
    node: str


@dataclass(frozen=True, slots=True)
class Follow:
    """The owners of these brokers: each change is to be told as `OwnerSeen`."""

    brokers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Call:
    """The brokers of this process call this one, if it is their neighbour: it is there, now."""

    broker: str


@dataclass(frozen=True, slots=True)
class SendClientsAway:
    """For a while, the clients of this broker of ours have to go elsewhere."""

    broker: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Do:
    """Carry the request out and answer with its number: `Answered`, or `Failed`."""

    number: int
    request: Request[Any]


@dataclass(frozen=True, slots=True)
class Forget:
    """Nobody waits for the answer any more."""

    number: int


@dataclass(frozen=True, slots=True)
class Judged:
    """The event that was raised with this number."""

    number: int


@dataclass(frozen=True, slots=True)
class Joined:
    """Our own broker is in the overlay."""


@dataclass(frozen=True, slots=True)
class Left:
    """Our own broker is in the overlay no more."""


@dataclass(frozen=True, slots=True)
class Note:
    """For the log of the process."""

    text: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """A fault of ours that nobody expected; everything else continues."""

    fault: Exception


Effect = (
    Tell
    | Keep
    | Drop
    | Follow
    | Call
    | SendClientsAway
    | Do
    | Forget
    | Judged
    | Joined
    | Left
    | Note
    | Broken
)
