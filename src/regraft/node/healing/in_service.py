"""Which brokers are to run, for the process that starts them (`regraft up --heal`). In ZooKeeper:

    ROOT/heal/retired/ID    a rule has removed this broker while it lived: it is not started again
    ROOT/heal/wanted/ID     a rule adds this broker, which does not run: its starter deletes this

A broker that died is in neither: it is started again, and joins again. What is written here outlives the
processes, so a broker that is out of service stays out when the overlay is started again.

On failure: a mark may stand although its broker has never left, because the leader that removed it has died.
So a broker is out of service if it has the mark and is not in the overlay.

Removals of living brokers are counted for the whole overlay, in ROOT/heal/removals: groups that share no
broker decide at the same time, and none of them knows what the others do (`heal.limits` counts what one node
has seen). Only these are counted: they can wait, and a faulty rule could ask for them everywhere at once.
"""

import contextlib
import time
from asyncio import timeout
from collections.abc import AsyncIterator

import msgspec

from regraft.coord import Conflict, Coord, Corrupt, Exists, Layout, Missing
from regraft.coord.layout import decoded, encoded
from regraft.coord.typed import encode, read, write
from regraft.deploy.records import Current
from regraft.heal.limits import RemovalLimits
from regraft.heal.raised import taken
from regraft.model.record import Record

TAKEN_SECONDS = 5.0
"""How long the process that starts brokers may take to notice one that is wanted."""
START_SECONDS = 30.0


class Retired(Record, frozen=True, kw_only=True):
    """`at`: in seconds since 1970."""

    at: float


class Wanted(Record, frozen=True, kw_only=True):
    """`beside`: where it is to join; empty: anywhere."""

    beside: tuple[str, ...] = ()


class Removals(Record, frozen=True, kw_only=True):
    """Living brokers that were removed, and when, in seconds since 1970."""

    living: dict[str, float] = msgspec.field(default_factory=dict)


def _retired(layout: Layout, id: str = "") -> str:
    return f"{layout.root}/heal/retired/{encoded(id)}" if id else f"{layout.root}/heal/retired"


def _wanted(layout: Layout, id: str = "") -> str:
    return f"{layout.root}/heal/wanted/{encoded(id)}" if id else f"{layout.root}/heal/wanted"


async def retire(coord: Coord, layout: Layout, id: str) -> None:
    with contextlib.suppress(Exists):
        await coord.create(_retired(layout, id), encode(Retired(at=time.time())))


async def reinstate(coord: Coord, layout: Layout, id: str) -> None:
    """The broker has been brought back."""
    await coord.delete(_retired(layout, id))


async def out_of_service(coord: Coord, layout: Layout) -> set[str]:
    """Brokers that a rule has removed and that have not been brought back."""
    folder = _retired(layout)
    marked = {decoded(name, folder) for name in await coord.children(folder)}
    stored = await read(coord, layout.topology, Current) if marked else None
    return marked - set(stored.value.brokers if stored is not None else ())


async def ask_to_start(coord: Coord, layout: Layout, id: str, beside: tuple[str, ...]) -> str:
    """Empty when the broker runs, whichever process has started it; otherwise why it does not."""
    if await coord.get(layout.alive(id)) is not None:
        return ""
    path = _wanted(layout, id)
    with contextlib.suppress(Exists):  # an earlier leader has asked already
        await coord.create(path, encode(Wanted(beside=beside)))
    if not await taken(coord, path, TAKEN_SECONDS):
        return f"{id} does not run, and no process here starts it: `regraft up --heal` does that"
    with contextlib.suppress(TimeoutError):
        async with timeout(START_SECONDS):
            async for node in coord.watch(layout.alive(id)):
                if node is not None:
                    return ""
    return f"{id} was started, and is not there after {START_SECONDS:g} s"


async def wanted(coord: Coord, layout: Layout) -> AsyncIterator[tuple[str, tuple[str, ...]]]:
    """Brokers that are to be started, one after the other; each is given to one process only."""
    folder = _wanted(layout)
    async for names in coord.watch_children(folder):
        for name in names:
            stored = None
            with contextlib.suppress(Corrupt):
                stored = await read(coord, f"{folder}/{name}", Wanted)
            if await coord.delete(f"{folder}/{name}") and stored is not None:
                yield decoded(name, folder), stored.value.beside


async def claim(coord: Coord, layout: Layout, broker: str, limits: RemovalLimits, now: float) -> str:
    """Empty: this living broker may be removed, and counts. Otherwise why it may not."""
    path = f"{layout.root}/heal/removals"
    while True:
        stored = await read(coord, path, Removals)
        known = stored.value.living if stored is not None else {}
        recent = {id: at for id, at in known.items() if abs(now - at) < limits.window}
        if broker in recent:
            return ""
        if len(recent) >= limits.healthy:
            others = ", ".join(sorted(recent))
            return f"{broker} lives, and {others} was removed within {limits.window:g} s: that is the limit"
        try:
            after = Removals(living={**recent, broker: now})
            await write(coord, path, after, stored.node if stored is not None else None)
            return ""
        except Missing:
            raise
        except Conflict:  # another leader was faster
            continue
