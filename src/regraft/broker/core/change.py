"""A change of links, and one broker's part in it, which survives a crash. What the parts do is in `relink`.

| operation | brokers | the links afterwards |
|---|---|---|
| shift | i, j, k | i–j has become i–k; j–k is there and stays |
| append | i, j | i, which had no links, is linked to j |
| detach | i, j | the leaf i, which has no clients any more, is no longer linked to j |
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import msgspec

from regraft.model import BadInput
from regraft.model.transitions import Machine, Transitions
from regraft.protocol.messages import AnyMessage

RECORD = "change/"
"""The prefix of the key of a stored part."""


class Change(NamedTuple):
    """One operation on links; `id` names it at all participants."""

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


class PartRole(NamedTuple):
    """Which links of one participant a change concerns."""

    frozen: tuple[str, ...] = ()
    """Neighbours with which no publications are exchanged until the change is over."""
    new: str = ""
    """The neighbour that this change adds."""
    gone: str = ""
    """The neighbour that this change removes."""


COUNTS = {"shift": 3, "append": 2, "detach": 2}


def _roles(operation: str, brokers: tuple[str, ...]) -> dict[str, PartRole]:
    if operation == "shift":
        i, j, k = brokers
        return {i: PartRole((j,), k, j), j: PartRole((i, k), "", i), k: PartRole((j,), i)}
    i, j = brokers
    if operation == "append":
        return {i: PartRole(new=j), j: PartRole(new=i)}
    return {i: PartRole((j,), "", j), j: PartRole((i,), "", i)}


def role_of(broker: str, change: Change) -> PartRole:
    if len(change.brokers) != COUNTS.get(change.operation) or len({*change.brokers}) != len(change.brokers):
        raise BadInput(change.id, f"{change} is not a change that brokers know")
    roles = _roles(change.operation, change.brokers)
    if broker not in roles:
        raise BadInput(change.id, f"{change} does not concern {broker!r}")
    return roles[broker]


class PartStage(StrEnum):
    """How far one broker is with its part in a change. The agent is told these strings.

    ● ─┬──the agent says prepare──▶ PREPARED ─┬──all that it needs has come──▶ READY
       │                                      └──the agent says abort──▶ ABORTED
       ├──it had crashed before the commit──▶ IN_DOUBT ─┬──the agent says commit──▶ COMMITTED
       │                                                └──the agent says abort──▶ ABORTED
       └──it had crashed after the commit──▶ COMMITTED

    READY ─┬──the agent says commit──▶ COMMITTED ─┬──▶ DONE
           └──the agent says abort──▶ ABORTED     └──k of a shift has told j──▶ TOLD ──j has answered──▶ DONE

    PREPARED ─┐
    READY ────┤
    IN_DOUBT ─┴──j of a shift hears `Moved`──▶ DONE

    A j that is not in doubt does nothing at the commit: it is done when k says `Moved`. By the protocol it is
    READY then; a neighbour that says so earlier is believed.
    """

    PREPARED = "prepared"
    READY = "ready"
    IN_DOUBT = "in doubt"
    COMMITTED = "committed"
    TOLD = "told"
    DONE = "done"
    ABORTED = "aborted"


_S = PartStage
PART_STAGES = Transitions(
    {_S.PREPARED, _S.IN_DOUBT, _S.COMMITTED},
    {
        _S.PREPARED: {_S.READY, _S.ABORTED, _S.DONE},
        _S.READY: {_S.COMMITTED, _S.ABORTED, _S.DONE},
        _S.IN_DOUBT: {_S.COMMITTED, _S.ABORTED, _S.DONE},
        _S.COMMITTED: {_S.TOLD, _S.DONE},
        _S.TOLD: {_S.DONE},
        _S.DONE: {},
        _S.ABORTED: {},
    },
)


@dataclass
class Part:
    """This broker's part in one change."""

    change: Change
    role: PartRole
    stages: Machine[PartStage]
    heard: set[str] = field(default_factory=set)
    """Neighbours from which nothing more will come."""
    frozen: dict[str, int] = field(default_factory=dict)
    """Neighbours that were told that nothing more comes from us, and the epoch of the connection."""
    connection: int | None = None
    """The connection to the neighbour that this change adds."""
    new_life: int = 0
    """The life of that neighbour."""
    early: list[AnyMessage] = field(default_factory=list)
    """What that neighbour has said, if it has committed before us."""
    said_ready: bool = False
    """The agent was told that we are ready. After a crash a part that is committed may report it again."""
    homes: list[str] = field(default_factory=list)
    """We are k: brokers behind i whose clients have filters, as j knew them when it was frozen."""
    life: int = 0
    """We are k: the life of j. If it grows, j has forgotten what it sent us."""

    def become(self, stage: PartStage) -> None:
        self.stages.become(stage)

    @property
    def in_doubt(self) -> bool:
        """It was prepared in an earlier life: the links concerned stay down until it is decided."""
        return self.stages.state is PartStage.IN_DOUBT

    @property
    def committed(self) -> bool:
        return self.stages.state in (PartStage.COMMITTED, PartStage.TOLD)

    @property
    def told(self) -> bool:
        """We are k and have told j, step 2 of the protocol in `relink`."""
        return self.stages.state is PartStage.TOLD

    @property
    def stage(self) -> PartStage:
        """The stage that the agent is told: it need not know whether k has told j."""
        return PartStage.COMMITTED if self.told else self.stages.state


def new_part(change: Change, role: PartRole, stage: PartStage = PartStage.PREPARED) -> Part:
    return Part(change, role, Machine(PART_STAGES, stage, f"{change.id}, {change}"))


class PartRecord(msgspec.Struct, array_like=True):
    """What is stored of a part."""

    operation: str
    brokers: tuple[str, ...]
    committed: bool
    homes: list[str]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(PartRecord).decode


def to_record(part: Part) -> bytes:
    return _encode(PartRecord(part.change.operation, part.change.brokers, part.committed, part.homes))


def parts_of(broker: str, stored: dict[str, bytes]) -> dict[str, Part]:
    """The parts of the previous life; those that were not committed are in doubt."""
    parts = {}
    for key, value in stored.items():
        if key.startswith(RECORD):
            id = key.removeprefix(RECORD)
            record = _decode(value)
            change = Change(id, record.operation, record.brokers)
            stage = PartStage.COMMITTED if record.committed else PartStage.IN_DOUBT
            parts[id] = new_part(change, role_of(broker, change), stage)
            parts[id].homes = record.homes
    return parts
