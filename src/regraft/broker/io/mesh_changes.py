"""A mesh broker's part in changes of links: `link(i, j)` and `unlink(i, j)`, which survives a crash.

The links of a mesh are independent. No traffic has to stop for a change, so a part is ready at once, and
stays so after a crash. A new link counts as done when it is up for the first time.

    ● ─┬──prepared, and nothing has changed──▶ READY ─┬──the agent says commit──▶ COMMITTED ──▶ DONE
       │                                              └──the agent says abort──▶ ABORTED
       └──it had crashed after the commit──▶ COMMITTED

COMMITTED means that the link is there, or is gone, on this side. An `unlink` is DONE at once, a `link` when
the neighbour has connected.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from regraft.broker.core.change import RECORD, Change, Record
from regraft.broker.core.effects import Effect, Report, Store
from regraft.broker.core.settings import NEIGHBOURS
from regraft.model import BadInput
from regraft.model.transitions import Machine, Transitions

if TYPE_CHECKING:
    from regraft.broker.core.mesh import MeshBroker

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Record).decode


class MeshStage(StrEnum):
    READY = "ready"
    COMMITTED = "committed"
    DONE = "done"
    ABORTED = "aborted"


_S = MeshStage
MESH_STAGES = Transitions(
    {_S.READY, _S.COMMITTED},
    {_S.READY: {_S.COMMITTED, _S.ABORTED}, _S.COMMITTED: {_S.DONE}, _S.DONE: {}, _S.ABORTED: {}},
)


@dataclass
class _Part:
    operation: str
    brokers: tuple[str, ...]
    stages: Machine[MeshStage]

    @property
    def committed(self) -> bool:
        return self.stages.state is MeshStage.COMMITTED


class MeshChanges:
    """The changes of one broker. `configured`: the neighbours that its configuration names."""

    def __init__(self, configured: tuple[str, ...], stored: dict[str, bytes]) -> None:
        self._configured = sorted(configured)
        self._parts: dict[str, _Part] = {}
        for key, value in stored.items():
            if key.startswith(RECORD):
                record = _decode(value)
                change = Change(key.removeprefix(RECORD), record.operation, record.brokers)
                stage = MeshStage.COMMITTED if record.committed else MeshStage.READY
                self._parts[change.id] = _part(change, stage)

    def stages(self) -> dict[str, str]:
        return {id: part.stages.state.value for id, part in self._parts.items()}

    def prepare(self, change: Change, core: "MeshBroker") -> list[Effect]:
        pair = len(change.brokers) == 2 == len({*change.brokers})
        if change.operation not in ("link", "unlink") or not pair:
            raise BadInput(change.id, f"{change} is not a change that brokers of a mesh know")
        if core.id not in change.brokers:
            raise BadInput(change.id, f"{change} does not concern {core.id!r}")
        other = _other(change.brokers, core)
        if (other in core.interest.links) == (change.operation == "link") or change.id in self._parts:
            raise BadInput(change.id, f"{change} does not fit the links of {core.id!r}")
        if any(other in part.brokers for part in self._parts.values()):
            raise BadInput(change.id, "another change concerns the same link")
        if change.operation == "unlink" and (topic := core.needs_link(other)):
            raise BadInput(change.id, f"topic {topic!r} would no longer be connected without it")
        self._parts[change.id] = part = _part(change, MeshStage.READY)
        return [_store(change.id, part), Report(change.id, MeshStage.READY.value)]

    def commit(self, id: str, core: "MeshBroker") -> list[Effect]:
        part = self._known(id)
        if part.committed:
            return []
        other = _other(part.brokers, core)
        effects = core.link(other) if part.operation == "link" else core.unlink(other)
        part.stages.become(MeshStage.COMMITTED)
        links = _encode((self._configured, sorted(core.interest.links)))
        return [Store(NEIGHBOURS, links), _store(id, part), *effects, *self.settle(core)]

    def abort(self, id: str) -> list[Effect]:
        if self._known(id).committed:
            raise BadInput(id, "is being carried out and cannot be aborted any more")
        return self._forget(id, MeshStage.ABORTED)

    def settle(self, core: "MeshBroker") -> list[Effect]:
        """Forget what is over."""
        over = [id for id, part in self._parts.items() if _is_over(part, core)]
        return [effect for id in over for effect in self._forget(id, MeshStage.DONE)]

    def _known(self, id: str) -> _Part:
        if id not in self._parts:
            raise BadInput(id, "is not a change that this broker takes part in")
        return self._parts[id]

    def _forget(self, id: str, stage: MeshStage) -> list[Effect]:
        self._parts.pop(id).stages.become(stage)
        return [Store(RECORD + id, None), Report(id, stage.value)]


def links_in(stored: bytes) -> list[str]:
    """The neighbours after the last change of links, from what is kept under `NEIGHBOURS`."""
    return msgspec.msgpack.decode(stored, type=tuple[list[str], list[str]])[1]


def _part(change: Change, stage: MeshStage) -> _Part:
    return _Part(change.operation, change.brokers, Machine(MESH_STAGES, stage, f"{change.id}, {change}"))


def _is_over(part: _Part, core: "MeshBroker") -> bool:
    link = core.interest.links.get(_other(part.brokers, core))
    return part.committed and (part.operation == "unlink" or link is None or link.connection is not None)


def _other(brokers: tuple[str, ...], core: "MeshBroker") -> str:
    return brokers[1] if brokers[0] == core.id else brokers[0]


def _store(id: str, part: _Part) -> Store:
    return Store(RECORD + id, _encode(Record(part.operation, part.brokers, part.committed, [])))
