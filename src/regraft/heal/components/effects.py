"""What the core wants its shell to do.

What follows a `Put`, `Change`, `SetRole` or `Forget`, also in the lists of later events, happens after that
is durable.
"""

from dataclasses import dataclass

from regraft.heal.components.life import Role
from regraft.heal.components.messages import Answered, Between, CallId, Entry, Image, Reply, Task


@dataclass(frozen=True, slots=True)
class Put:
    """Store it whole."""

    image: Image
    role: Role
    sender: str = ""
    version: int = -1


@dataclass(frozen=True, slots=True)
class Change:
    """Store what a point changes, all or nothing; a value of None: no longer there."""

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
    """On the connection that the call came on."""

    via: object
    reply: Reply


@dataclass(frozen=True, slots=True)
class Tell:
    """How an order has ended. `seconds`: of a migration, from the order to the switch."""

    order: object
    refused: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Look:
    """Read the directory (all that was acknowledged to anybody), and call `looked`."""

    tenure: str
    name: str


@dataclass(frozen=True, slots=True)
class Claim:
    """Write the directory: over `version`, or a new entry (None); and call `claimed`."""

    tenure: str
    entry: Entry
    version: int | None


@dataclass(frozen=True, slots=True)
class Unlist:
    """Delete the entry if it is at `version`; and call `looked` with what is there."""

    tenure: str
    name: str
    version: int


@dataclass(frozen=True, slots=True)
class Load:
    """Give it a worker that has code and state, and stands; `loaded` or `died` follows."""

    image: Image


@dataclass(frozen=True, slots=True)
class Go:
    """The worker runs, or runs on."""

    tenure: str


@dataclass(frozen=True, slots=True)
class Run:
    tenure: str
    id: CallId
    method: str
    arguments: bytes


@dataclass(frozen=True, slots=True)
class Freeze:
    """The worker comes to a point and stands there."""

    tenure: str


@dataclass(frozen=True, slots=True)
class Kill:
    tenure: str


Durable = Put | Change | SetRole | Forget
Effect = Durable | Send | SendCode | Respond | Tell | Look | Claim | Unlist | Load | Go | Run | Freeze | Kill
