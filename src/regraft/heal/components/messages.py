"""What hosts and callers say to each other, and the values in it: frames of msgpack on TCP (`network`).

Arguments, values and state are bytes here: only worker and caller look inside.
"""

import msgspec


class CallId(msgspec.Struct, frozen=True, array_like=True):
    """Unique for ever: a caller's own name, of one life, and its count."""

    caller: str
    number: int


class Answered(msgspec.Struct, frozen=True, array_like=True):
    """How a call has ended: a value, or why there is none."""

    value: bytes = b""
    fault: str = ""


class Task(msgspec.Struct, frozen=True, array_like=True):
    """A call that goes on: begun, and how far it is."""

    method: str
    arguments: bytes
    progress: bytes
    calls: int = 0
    """That it has made itself: a task that goes on from here numbers them on from here."""


class Remembered(msgspec.Struct, frozen=True, array_like=True):
    """Of one caller: answers it may ask for again, and below which number it never will."""

    floor: int
    answers: dict[int, Answered]


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """All there is of a component but its code. `tenure` names one stay of it at one place."""

    name: str
    tenure: str
    bundle: str
    """The sha256 of its file."""
    origin: str = ""
    """The component that it is a clone of."""
    cells: dict[str, bytes] = {}
    """The fields of its state, each packed."""
    remembered: dict[str, Remembered] = {}
    tasks: list[tuple[CallId, Task]] = []


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What the directory says of a name: who owns it."""

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
    """The answer, or: it is not here; `place` where it is, as far as is known."""

    id: CallId
    answer: Answered | None = None
    place: str = ""


class Offer(_Message, frozen=True, kw_only=True, tag="offer"):
    """Take this over, when the directory says so: its entry has `version` until then. `clone`: at once."""

    image: Image
    version: int = -1
    clone: bool = False


class Want(_Message, frozen=True, kw_only=True, tag="want"):
    """The code is not here."""

    tenure: str


class Code(_Message, frozen=True, kw_only=True, tag="code"):
    bundle: str
    data: bytes


class Ready(_Message, frozen=True, kw_only=True, tag="ready"):
    """Stored and loaded; a clone: running."""

    tenure: str


class Declined(_Message, frozen=True, kw_only=True, tag="declined"):
    tenure: str
    reason: str


class Settled(_Message, frozen=True, kw_only=True, tag="settled"):
    """The directory names you, in this version."""

    tenure: str
    version: int


class Cancelled(_Message, frozen=True, kw_only=True, tag="cancelled"):
    """We know nothing of this move, and will not go through with it."""

    tenure: str


class Ask(_Message, frozen=True, kw_only=True, tag="ask"):
    """Is this move still on?"""

    name: str
    tenure: str


class Order(_Message, frozen=True, kw_only=True, tag="order"):
    """For a host: create, migrate, clone, terminate, list."""

    number: int
    kind: str
    name: str = ""
    target: str = ""
    name_there: str = ""
    data: bytes = b""
    state: dict[str, bytes] | None = None


class Ended(_Message, frozen=True, kw_only=True, tag="ended"):
    """Of an order. `seconds`: calls waited so long, in a migration."""

    number: int
    refused: str = ""
    seconds: float = 0.0
    listed: list[tuple[str, str, str]] = []
    """Name, life, bundle."""


Between = Offer | Want | Ready | Declined | Settled | Cancelled | Ask
"""What the cores of hosts say to each other."""
Message = Hello | Call | Reply | Code | Order | Ended | Between
