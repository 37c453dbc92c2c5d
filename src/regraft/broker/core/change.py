"""A change of links, and one broker's part in it, which is remembered beyond a crash.

| operation | brokers | the links afterwards |
|---|---|---|
| shift | i, j, k | i–j has become i–k; j–k is there and stays |
| append | i, j | i, which had no links, is linked to j |
| detach | i, j | the leaf i, which has no clients any more, is not linked to j |
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from regraft.model import BadInput
from regraft.protocol.messages import AnyMessage

RECORD = "change/"
"""How the key of a stored part begins."""


class Change(NamedTuple):
    """One operation on links; `id` names it for everybody."""

    id: str
    operation: str
    brokers: tuple[str, ...]

    @property
    def i(self) -> str:
        return self.brokers[0]

    @property
    def j(self) -> str:
        return self.brokers[1]

    @property
    def k(self) -> str:
        return self.brokers[2]

    def __str__(self) -> str:
        return f"{self.operation}({', '.join(self.brokers)})"


def shift(id: str, i: str, j: str, k: str) -> Change:
    """Broker i leaves j for k, which is a neighbour of j."""
    return Change(id, "shift", (i, j, k))


class Role(NamedTuple):
    """Which links of one participant a change concerns."""

    frozen: tuple[str, ...] = ()
    """Neighbours with which publications stand still until it is over."""
    new: str = ""
    """The neighbour to be."""
    gone: str = ""
    """The neighbour that will be none."""


COUNTS = {"shift": 3, "append": 2, "detach": 2}


def _roles(operation: str, brokers: tuple[str, ...]) -> dict[str, Role]:
    if operation == "shift":
        i, j, k = brokers
        return {i: Role((j,), k, j), j: Role((i, k), "", i), k: Role((j,), i)}
    i, j = brokers
    if operation == "append":
        return {i: Role(new=j), j: Role(new=i)}
    return {i: Role((j,), "", j), j: Role((i,), "", i)}


def role_of(broker: str, change: Change) -> Role:
    if len(change.brokers) != COUNTS.get(change.operation) or len({*change.brokers}) != len(change.brokers):
        raise BadInput(change.id, f"{change} is not a change that brokers know")
    roles = _roles(change.operation, change.brokers)
    if broker not in roles:
        raise BadInput(change.id, f"{change} does not concern {broker!r}")
    return roles[broker]


@dataclass
class Part:
    """This broker's part in one change."""

    change: Change
    role: Role
    in_doubt: bool = False
    """It was prepared in an earlier life: the links concerned stay down until it is decided."""
    heard: set[str] = field(default_factory=set)
    """Neighbours from which nothing more will come."""
    frozen: dict[str, int] = field(default_factory=dict)
    """Neighbours that were told so, on which connection."""
    connection: int | None = None
    """To the neighbour to be."""
    new_life: int = 0
    """Of that one."""
    early: list[AnyMessage] = field(default_factory=list)
    """What that one, which has committed before us, has said."""
    ready: bool = False
    committed: bool = False
    homes: list[str] = field(default_factory=list)
    """We are k: brokers behind i whose clients have filters, as j knew them when it was frozen."""
    life: int = 0
    """And j's life: if it grows, j has forgotten what it sent us."""
    told: bool = False
    """We are k and have told j (2)."""

    @property
    def stage(self) -> str:
        if self.committed:
            return "committed"
        if self.in_doubt:
            return "in doubt"
        return "ready" if self.ready else "prepared"


class Record(msgspec.Struct, array_like=True):
    """What is remembered of a part."""

    operation: str
    brokers: tuple[str, ...]
    committed: bool
    homes: list[str]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Record).decode


def to_record(part: Part) -> bytes:
    return _encode(Record(part.change.operation, part.change.brokers, part.committed, part.homes))


def parts_of(broker: str, stored: dict[str, bytes]) -> dict[str, Part]:
    """The parts of the life before; what was not committed is in doubt."""
    parts = {}
    for key, value in stored.items():
        if key.startswith(RECORD):
            id = key.removeprefix(RECORD)
            record = _decode(value)
            change = Change(id, record.operation, record.brokers)
            part = Part(change, role_of(broker, change), in_doubt=not record.committed)
            part.committed, part.homes = record.committed, record.homes
            parts[id] = part
    return parts
