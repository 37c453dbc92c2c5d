"""What the core wants its shell to do.

What follows a `Put`, `StorePoint`, `SetRole` or `Forget`, also in the effects of later events, is carried out
only when that is durable.
"""

from dataclasses import dataclass

from regraft.components.life import Role
from regraft.components.messages import Answered, Between, CallId, Entry, Image, Reply, Task


@dataclass(frozen=True, slots=True)
class Put:
    """Store the whole component."""

    image: Image
    role: Role
    sender: str = ""
    version: int = -1


@dataclass(frozen=True, slots=True)
class StorePoint:
    """Store what a point changes, all or nothing; None as a value deletes it."""

    tenure: str
    cells: dict[str, bytes | None]
    tasks: dict[CallId, Task | None]
    answers: dict[CallId, Answered]
    floors: dict[str, int]


@dataclass(frozen=True, slots=True)
class SetRole:
    tenure: str
    role: Role


@dataclass(frozen=True, slots=True)
class Forget:
    tenure: str


@dataclass(frozen=True, slots=True)
class Stored:
    """What a host finds in its store when it starts."""

    image: Image
    role: Role
    sender: str = ""
    version: int = -1


@dataclass(frozen=True, slots=True)
class Send:
    to: str
    message: Between


@dataclass(frozen=True, slots=True)
class SendCode:
    to: str
    bundle: str


@dataclass(frozen=True, slots=True)
class Respond:
    """Answer on the connection that the call came on."""

    via: object
    reply: Reply


@dataclass(frozen=True, slots=True)
class Tell:
    """Report how an order has ended. `seconds`: how long a migration took, from the order to the switch."""

    order: object
    refused: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Look:
    """Read the directory with every acknowledged write, and call `looked`."""

    tenure: str
    name: str


@dataclass(frozen=True, slots=True)
class Claim:
    """Write the directory, over `version` or as a new entry (None), and call `claimed`."""

    tenure: str
    entry: Entry
    version: int | None


@dataclass(frozen=True, slots=True)
class Unlist:
    """Delete the entry if it has `version`, and call `looked` with what is there then."""

    tenure: str
    name: str
    version: int


@dataclass(frozen=True, slots=True)
class Load:
    """Give the component a worker that has its code and state and is paused; `loaded` or `died` follows."""

    image: Image


@dataclass(frozen=True, slots=True)
class Go:
    """Let the worker run, or continue."""

    tenure: str


@dataclass(frozen=True, slots=True)
class Run:
    tenure: str
    id: CallId
    method: str
    arguments: bytes


@dataclass(frozen=True, slots=True)
class Freeze:
    """Let the worker report a point and pause there."""

    tenure: str


@dataclass(frozen=True, slots=True)
class Kill:
    tenure: str


Durable = Put | StorePoint | SetRole | Forget
Effect = Durable | Send | SendCode | Respond | Tell | Look | Claim | Unlist | Load | Go | Run | Freeze | Kill
