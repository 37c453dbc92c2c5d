"""A mesh broker's part in changes of links: `link(i, j)` and `unlink(i, j)`, remembered beyond a crash.

The links of a mesh are independent: nothing has to stand still, so a part is ready at once, and stays so
after a crash. A new link counts as done when it is up for the first time.

| stage | means |
|---|---|
| ready | prepared; nothing has changed |
| committed | linked here; the neighbour has not connected yet |
| (gone) | aborted, or done |
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from regraft.broker.core.change import RECORD, Change, Record
from regraft.broker.core.effects import Effect, Report, Store
from regraft.broker.core.settings import NEIGHBOURS
from regraft.model import BadInput

if TYPE_CHECKING:
    from regraft.broker.core.mesh import MeshBroker

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Record).decode


@dataclass
class _Part:
    operation: str
    brokers: tuple[str, ...]
    committed: bool = False


class MeshChanges:
    """Of one broker. `configured`: the neighbours that its configuration names."""

    def __init__(self, configured: tuple[str, ...], stored: dict[str, bytes]) -> None:
        self._configured = sorted(configured)
        self._parts: dict[str, _Part] = {}
        for key, value in stored.items():
            if key.startswith(RECORD):
                record = _decode(value)
                part = _Part(record.operation, record.brokers, record.committed)
                self._parts[key.removeprefix(RECORD)] = part

    def stages(self) -> dict[str, str]:
        return {id: "committed" if part.committed else "ready" for id, part in self._parts.items()}

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
        self._parts[change.id] = part = _Part(change.operation, change.brokers)
        return [_store(change.id, part), Report(change.id, "ready")]

    def commit(self, id: str, core: "MeshBroker") -> list[Effect]:
        part = self._known(id)
        if part.committed:
            return []
        other = _other(part.brokers, core)
        effects = core.link(other) if part.operation == "link" else core.unlink(other)
        part.committed = True
        links = _encode((self._configured, sorted(core.interest.links)))
        return [Store(NEIGHBOURS, links), _store(id, part), *effects, *self.settle(core)]

    def abort(self, id: str) -> list[Effect]:
        if self._known(id).committed:
            raise BadInput(id, "is being carried out and can not be aborted any more")
        return self._forget(id, "aborted")

    def settle(self, core: "MeshBroker") -> list[Effect]:
        """Forget what is over."""
        over = [id for id, part in self._parts.items() if _is_over(part, core)]
        return [effect for id in over for effect in self._forget(id, "done")]

    def _known(self, id: str) -> _Part:
        if id not in self._parts:
            raise BadInput(id, "is not a change that this broker takes part in")
        return self._parts[id]

    def _forget(self, id: str, stage: str) -> list[Effect]:
        del self._parts[id]
        return [Store(RECORD + id, None), Report(id, stage)]


def links_in(stored: bytes) -> list[str]:
    """The neighbours after the last change of links, from what is kept under `NEIGHBOURS`."""
    return msgspec.msgpack.decode(stored, type=tuple[list[str], list[str]])[1]


def _is_over(part: _Part, core: "MeshBroker") -> bool:
    link = core.interest.links.get(_other(part.brokers, core))
    return part.committed and (part.operation == "unlink" or link is None or link.connection is not None)


def _other(brokers: tuple[str, ...], core: "MeshBroker") -> str:
    return brokers[1] if brokers[0] == core.id else brokers[0]


def _store(id: str, part: _Part) -> Store:
    return Store(RECORD + id, _encode(Record(part.operation, part.brokers, part.committed, [])))
