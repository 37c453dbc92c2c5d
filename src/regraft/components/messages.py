"""The messages of hosts and callers, and the values in them: frames of msgpack on TCP (`network`).

Arguments, values and state are bytes here; only workers and callers look inside.
"""

import msgspec

from regraft.model import RegraftError


class CallId(msgspec.Struct, frozen=True, array_like=True):
    """Unique for ever: a name that the caller chose at its start, and a number that it counts up."""

    caller: str
    number: int


class Answered(msgspec.Struct, frozen=True, array_like=True):
    """How a call has ended: a value, or why there is none."""

    value: bytes = b""
    fault: str = ""


class CallFailed(RegraftError):
    """The component has raised an error, or there is no component of this name, or no answer came."""


class Task(msgspec.Struct, frozen=True, array_like=True):
    """A long call that has begun, and its progress."""

    method: str
    arguments: bytes
    progress: bytes
    calls: int = 0
    """How many calls the task has made; it continues to number them from here after a move or crash."""


class Remembered(msgspec.Struct, frozen=True, array_like=True):
    """The answers that one caller may ask for again; it never asks for calls below `floor`."""

    floor: int
    answers: dict[int, Answered]


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """All of a component but its code. `tenure` names one stay of it at one place."""

    name: str
    tenure: str
    bundle: str
    """The sha256 of the bundle file."""
    origin: str = ""
    """The component that it is a clone of."""
    cells: dict[str, bytes] = {}
    """The fields of its state, each packed."""
    remembered: dict[str, Remembered] = {}
    tasks: list[tuple[CallId, Task]] = []


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What the directory holds for a name: the place that owns the component."""

    v: int = 1
    name: str
    place: str
    tenure: str
    bundle: str = ""
    origin: str = ""


class Found(msgspec.Struct, frozen=True):
    """An entry, and the version that a change of it must name."""

    entry: Entry
    version: int


class _Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="is"):
    pass


class Hello(_Message, frozen=True, kw_only=True, tag="hello"):
    id: str
    token: str = ""


class Call(_Message, frozen=True, kw_only=True, tag="call"):
    """`answered`: the caller has the answers of all its calls below this number."""

    id: CallId
    answered: int
    name: str
    method: str
    arguments: bytes


class Reply(_Message, frozen=True, kw_only=True, tag="reply"):
    """The answer; or, without one: the component is not here, but at `place` if that is known."""

    id: CallId
    answer: Answered | None = None
    place: str = ""


class Offer(_Message, frozen=True, kw_only=True, tag="offer"):
    """Take this component over when the directory says so; until then its entry has `version`.

    A clone is started at once."""

    image: Image
    version: int = -1
    clone: bool = False


class Want(_Message, frozen=True, kw_only=True, tag="want"):
    """The code of the offered component is missing here."""

    tenure: str


class Code(_Message, frozen=True, kw_only=True, tag="code"):
    bundle: str
    data: bytes


class Ready(_Message, frozen=True, kw_only=True, tag="ready"):
    """The offered component is stored and loaded; a clone is running."""

    tenure: str


class Declined(_Message, frozen=True, kw_only=True, tag="declined"):
    tenure: str
    reason: str


class Settled(_Message, frozen=True, kw_only=True, tag="settled"):
    """The directory names the receiver now, in this version."""

    tenure: str
    version: int


class Cancelled(_Message, frozen=True, kw_only=True, tag="cancelled"):
    """The sender does not know this move, or has called it off."""

    tenure: str


class Ask(_Message, frozen=True, kw_only=True, tag="ask"):
    """Is this move still under way?"""

    name: str
    tenure: str


class Order(_Message, frozen=True, kw_only=True, tag="order"):
    """An order to a host: create, migrate, clone, terminate, list."""

    number: int
    kind: str
    name: str = ""
    target: str = ""
    name_there: str = ""
    data: bytes = b""
    state: dict[str, bytes] | None = None


class Ended(_Message, frozen=True, kw_only=True, tag="ended"):
    """How an order has ended. `seconds`: how long calls waited during a migration."""

    number: int
    refused: str = ""
    seconds: float = 0.0
    listed: list[tuple[str, str, str]] = []
    """Name, state of life and bundle of each component."""


Between = Offer | Want | Ready | Declined | Settled | Cancelled | Ask
"""The messages between the cores of two hosts."""
Message = Hello | Call | Reply | Code | Order | Ended | Between
