"""Who may adapt what, when: requests about the same brokers are granted in order of arrival. Pure.

The queue is one value. It is kept in the first layer and changed there by compare-and-set, so the order of
the changes is the order of arrival for every database, and no database has to live for it (seed §3.2, §5:
"paths with overlapping brokers are given access sequentially"). A request stands granted when nobody before
it concerns one of its brokers. A second request about the same broker joins the first: all who notice one
crash get one grant.
"""

from collections.abc import Iterable, Mapping

import msgspec

from regraft.heal.grant import Grant, Request

MOST_WAITING = 1_000


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A place in the queue. `grant` is written once, when its turn has come: all members get the same."""

    id: str
    request: Request
    brokers: tuple[str, ...]
    grant: Grant | None = None


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """From the first to the last; `count` is the number of the last request ever."""

    entries: tuple[Entry, ...] = ()
    count: int = 0


def requested(queue: Queue, request: Request, brokers: Iterable[str]) -> tuple[Queue, str] | None:
    """The queue with this request, and its id; None if the queue is full."""
    for entry in queue.entries:
        same = entry.request.kind == request.kind and entry.request.target == request.target
        if same:
            return queue, entry.id
    if len(queue.entries) >= MOST_WAITING:
        return None
    id = f"{queue.count + 1}-{request.kind}-{request.target}"
    entry = Entry(id=id, request=request, brokers=tuple(sorted({request.target, *brokers})))
    return Queue(entries=(*queue.entries, entry), count=queue.count + 1), id


def entry_of(queue: Queue, id: str) -> Entry | None:
    return next((entry for entry in queue.entries if entry.id == id), None)


def before(queue: Queue, id: str) -> Entry | None:
    """The first that has to be over before this one's turn comes; None if it is its turn."""
    own = entry_of(queue, id)
    if own is None:
        return None
    for entry in queue.entries:
        if entry.id == id:
            return None
        if set(entry.brokers) & set(own.brokers):
            return entry
    return None


def turn(queue: Queue) -> tuple[Entry, ...]:
    """All whose turn it is: no two of them share a broker."""
    return tuple(entry for entry in queue.entries if before(queue, entry.id) is None)


def granted(queue: Queue, id: str, grant: Grant) -> Queue:
    """With the group written down; if somebody was first with that, his holds."""
    entries = tuple(
        msgspec.structs.replace(entry, grant=grant) if entry.id == id and entry.grant is None else entry
        for entry in queue.entries
    )
    return Queue(entries=entries, count=queue.count)


def released(queue: Queue, id: str) -> Queue:
    return Queue(entries=tuple(entry for entry in queue.entries if entry.id != id), count=queue.count)


def overdue(queue: Queue, seen: Mapping[str, float], now: float, most: float) -> tuple[str, ...]:
    """Those whose turn began more than `most` seconds ago by this observer's clock: their askers have died.

    `seen`: when the observer first saw that it was their turn. Nobody's clock is compared with another's.
    """
    return tuple(entry.id for entry in turn(queue) if now - seen.get(entry.id, now) > most)


def observed(queue: Queue, seen: Mapping[str, float], now: float) -> dict[str, float]:
    return {entry.id: seen.get(entry.id, now) for entry in turn(queue)}
