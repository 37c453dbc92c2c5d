"""The queue of requests for grants: those about the same brokers are granted in order of arrival. Pure.

The queue is one value in the first layer, changed there by compare-and-set. So all databases see the same
order of arrival, and the queue does not depend on any of them (Mimosa Pudica §3.2, §5: "paths with
overlapping brokers are given access sequentially"). A request is granted when no earlier one concerns any of
its brokers. A second request about the same broker joins the first: all nodes that notice one crash get the
same grant.
"""

from collections.abc import Iterable, Mapping

import msgspec

from regraft.heal.grant import Grant, GrantRequest

MOST_WAITING = 1_000


class QueuedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request in the queue. `grant` is written once, when its turn has come, so all askers get the same."""

    id: str
    request: GrantRequest
    brokers: tuple[str, ...]
    grant: Grant | None = None


class GrantQueue(msgspec.Struct, frozen=True, kw_only=True):
    """Entries in order of arrival; `count` is how many requests there have ever been."""

    entries: tuple[QueuedRequest, ...] = ()
    count: int = 0


def requested(
    queue: GrantQueue, request: GrantRequest, brokers: Iterable[str]
) -> tuple[GrantQueue, str] | None:
    """The queue with this request, and its id; None if the queue is full."""
    for entry in queue.entries:
        same = entry.request.kind == request.kind and entry.request.target == request.target
        if same:
            return queue, entry.id
    if len(queue.entries) >= MOST_WAITING:
        return None
    id = f"{queue.count + 1}-{request.kind}-{request.target}"
    entry = QueuedRequest(id=id, request=request, brokers=tuple(sorted({request.target, *brokers})))
    return GrantQueue(entries=(*queue.entries, entry), count=queue.count + 1), id


def entry_of(queue: GrantQueue, id: str) -> QueuedRequest | None:
    return next((entry for entry in queue.entries if entry.id == id), None)


def before(queue: GrantQueue, id: str) -> QueuedRequest | None:
    """The first entry that this one has to wait for; None if its turn has come."""
    own = entry_of(queue, id)
    if own is None:
        return None
    for entry in queue.entries:
        if entry.id == id:
            return None
        if set(entry.brokers) & set(own.brokers):
            return entry
    return None


def in_turn(queue: GrantQueue) -> tuple[QueuedRequest, ...]:
    """All entries whose turn has come: no two of them share a broker."""
    return tuple(entry for entry in queue.entries if before(queue, entry.id) is None)


def granted(queue: GrantQueue, id: str, grant: Grant) -> GrantQueue:
    """The queue with this grant written; a grant that is there already stays."""
    entries = tuple(
        msgspec.structs.replace(entry, grant=grant) if entry.id == id and entry.grant is None else entry
        for entry in queue.entries
    )
    return GrantQueue(entries=entries, count=queue.count)


def released(queue: GrantQueue, id: str) -> GrantQueue:
    return GrantQueue(entries=tuple(entry for entry in queue.entries if entry.id != id), count=queue.count)


def overdue(queue: GrantQueue, seen: Mapping[str, float], now: float, most: float) -> tuple[str, ...]:
    """Entries whose turn began more than `most` seconds ago: their askers are taken for dead.

    `seen`: when this database first saw that their turn had come. Clocks of two machines are never compared.
    """
    return tuple(entry.id for entry in in_turn(queue) if now - seen.get(entry.id, now) > most)


def observed(queue: GrantQueue, seen: Mapping[str, float], now: float) -> dict[str, float]:
    return {entry.id: seen.get(entry.id, now) for entry in in_turn(queue)}
