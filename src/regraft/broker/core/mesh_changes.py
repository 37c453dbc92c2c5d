"""A mesh broker's part in changes of links: `link(i, j)` and `unlink(i, j)`, which survives a crash.

The links of a mesh are independent. No traffic has to stop for a change, so a part is ready at once, and
stays so after a crash. A new link counts as done when it is up for the first time.

    ● ─┬──prepared, and nothing has changed──▶ READY ─┬──the agent says commit──▶ COMMITTED ──▶ DONE
       │                                              └──the agent says abort──▶ ABORTED
       └──it had crashed after the commit──▶ COMMITTED

COMMITTED means that the link is there, or is gone, on this side. An `unlink` is DONE at once, a `link` when
the neighbour has connected.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from regraft.broker.core.change import RECORD, Change, PartRecord
from regraft.broker.core.effects import Effect, Report, Store
from regraft.broker.core.peers import Link
from regraft.broker.core.settings import NEIGHBOURS, encode_neighbours
from regraft.model import BadInput
from regraft.model.transitions import Machine, Transitions

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(PartRecord).decode


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
    """The changes that one broker takes part in.

    `configured` are the neighbours that its configuration names; `links` are those that it has, connected or
    not, which the broker keeps up to date.
    """

    def __init__(
        self, id: str, configured: Sequence[str], links: Mapping[str, Link], stored: Mapping[str, bytes]
    ) -> None:
        self._id = id
        self._configured = sorted(configured)
        self._links = links
        self._parts: dict[str, _Part] = {}
        for key, value in stored.items():
            if key.startswith(RECORD):
                record = _decode(value)
                change = Change(key.removeprefix(RECORD), record.operation, record.brokers)
                stage = MeshStage.COMMITTED if record.committed else MeshStage.READY
                self._parts[change.id] = _part(change, stage)

    def stages(self) -> dict[str, str]:
        return {id: part.stages.state.value for id, part in self._parts.items()}

    def prepare(self, change: Change, needs_link: Callable[[str], str]) -> list[Effect]:
        """`needs_link` names a topic that falls apart without the link to a neighbour, if there is any."""
        pair = len(change.brokers) == 2 == len({*change.brokers})
        if change.operation not in ("link", "unlink") or not pair:
            raise BadInput(change.id, f"{change} is not a change that brokers of a mesh know")
        if self._id not in change.brokers:
            raise BadInput(change.id, f"{change} does not concern {self._id!r}")
        other = self._other(change.brokers)
        if (other in self._links) == (change.operation == "link") or change.id in self._parts:
            raise BadInput(change.id, f"{change} does not fit the links of {self._id!r}")
        if any(other in part.brokers for part in self._parts.values()):
            raise BadInput(change.id, "another change concerns the same link")
        if change.operation == "unlink" and (topic := needs_link(other)):
            raise BadInput(change.id, f"topic {topic!r} would no longer be connected without it")
        self._parts[change.id] = part = _part(change, MeshStage.READY)
        return [_store(change.id, part), Report(change.id, MeshStage.READY.value)]

    def about(self, id: str) -> tuple[str, str]:
        """The operation, and the broker at the other end of the link."""
        part = self._known(id)
        return part.operation, self._other(part.brokers)

    def commit(self, id: str) -> list[Effect]:
        """What is stored before the link comes or goes; nothing, if that has happened."""
        part = self._known(id)
        if part.committed:
            return []
        part.stages.become(MeshStage.COMMITTED)
        other = self._other(part.brokers)
        after = {*self._links} | {other} if part.operation == "link" else {*self._links} - {other}
        return [Store(NEIGHBOURS, encode_neighbours(self._configured, after)), _store(id, part)]

    def abort(self, id: str) -> list[Effect]:
        if self._known(id).committed:
            raise BadInput(id, "is being carried out and cannot be aborted any more")
        return self._forget(id, MeshStage.ABORTED)

    def take_done(self) -> list[Effect]:
        """Forget the changes that are complete on this side."""
        done = [id for id, part in self._parts.items() if self._is_done(part)]
        return [effect for id in done for effect in self._forget(id, MeshStage.DONE)]

    def _is_done(self, part: _Part) -> bool:
        if not part.committed:
            return False
        link = self._links.get(self._other(part.brokers))
        return part.operation == "unlink" or link is None or link.connection is not None

    def _other(self, brokers: tuple[str, ...]) -> str:
        return brokers[1] if brokers[0] == self._id else brokers[0]

    def _known(self, id: str) -> _Part:
        if id not in self._parts:
            raise BadInput(id, "is not a change that this broker takes part in")
        return self._parts[id]

    def _forget(self, id: str, stage: MeshStage) -> list[Effect]:
        self._parts.pop(id).stages.become(stage)
        return [Store(RECORD + id, None), Report(id, stage.value)]


def _part(change: Change, stage: MeshStage) -> _Part:
    return _Part(change.operation, change.brokers, Machine(MESH_STAGES, stage, f"{change.id}, {change}"))


def _store(id: str, part: _Part) -> Store:
    return Store(RECORD + id, _encode(PartRecord(part.operation, part.brokers, part.committed, [])))
