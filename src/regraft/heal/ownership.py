"""The owners of brokers, and how a broker is taken over. In ZooKeeper, the first layer:

    ROOT/heal/owners/ID          where the broker is, since when, and by whom (a deputy's leader)
    ROOT/heal/journals/ID/NN     what it remembers beyond a crash (`fenced_journal`)
    ROOT/brokers/ID/alive        ephemeral: the session of its owner (`coord.Presence`)

A takeover is one transaction: it changes the owner, checks that the buckets are as they were read, and makes
the presence ours. So there is one owner at a time; the new one has read everything that was durable for the
old one; and the old one cannot write any more, since each of its writes checks the version of the owner node.

The caller says why the takeover is allowed (`Why`): there is no owner yet; the presence is gone, and with it
the session that the old owner's lease depends on (the transaction fails if it has come back); or the old
owner's process is known to be gone. On failure nothing has changed: `NotTaken` gives the reason, and the
caller may look and try again.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from regraft.coord import (
    Check,
    Conflict,
    Coord,
    Create,
    Delete,
    Layout,
    Missing,
    Node,
    Operation,
    Set,
)
from regraft.coord.layout import decoded, encoded
from regraft.coord.typed import Stored, decode, encode
from regraft.heal.fenced_journal import BUCKETS, FencedJournal, bucket_name, contents
from regraft.heal.owner import NotTaken, Owner, Why

NOTHING = b""


class TakeoverBasis(NamedTuple):
    """What a takeover is based on: it fails if any of this has changed meanwhile."""

    owner: Stored[Owner] | None
    alive: Node | None
    buckets: tuple[Node | None, ...]


class Places:
    """Paths of one broker."""

    def __init__(self, layout: Layout, id: str) -> None:
        self.owner = f"{owners(layout)}/{encoded(id)}"
        self.journal = f"{layout.root}/heal/journals/{encoded(id)}"
        self.alive = layout.alive(id)
        self.broker = layout.broker(id)

    @property
    def buckets(self) -> list[str]:
        return [f"{self.journal}/{bucket_name(number)}" for number in range(BUCKETS)]


def owners(layout: Layout) -> str:
    return f"{layout.root}/heal/owners"


async def all_owners(coord: Coord, layout: Layout) -> dict[str, Stored[Owner]]:
    folder = owners(layout)
    names = await coord.children(folder)
    nodes = await asyncio.gather(*[coord.get(f"{folder}/{name}") for name in names])
    return {
        decoded(name, folder): Stored(decode(f"{folder}/{name}", node.data, Owner), node)
        for name, node in zip(names, nodes, strict=True)
        if node is not None
    }


async def look(coord: Coord, layout: Layout, id: str) -> TakeoverBasis:
    places = Places(layout, id)
    owner, alive, *buckets = await asyncio.gather(
        *[coord.get(path) for path in (places.owner, places.alive, *places.buckets)]
    )
    known = Stored(decode(places.owner, owner.data, Owner), owner) if owner is not None else None
    return TakeoverBasis(known, alive, tuple(buckets))


async def take(
    coord: Coord, layout: Layout, id: str, claim: Owner, seen: TakeoverBasis, why: Why, *, empty: bool = False
) -> FencedJournal | NotTaken:
    """Takes the broker over, in its next life; returns its journal. `empty`: what it remembered is
    dropped."""
    places = Places(layout, id)
    session = coord.session_id
    if why is Why.VACANT and seen.alive is not None and seen.alive.ephemeral_owner != session:
        return NotTaken(f"{id} lives: its session holds {places.alive}")
    for folder in (owners(layout), places.journal, places.broker):
        if seen.owner is None:
            await coord.ensure(folder)
    life = seen.owner.value.life + 1 if seen.owner is not None else 1
    data = encode(msgspec.structs.replace(claim, life=life))
    operations: list[Operation] = [
        Create(places.owner, data)
        if seen.owner is None
        else Set(places.owner, data, seen.owner.node.version),
        *_presence(places.alive, seen.alive, session),
        *_buckets(places.buckets, seen.buckets, empty),
    ]
    try:
        await coord.transaction(operations)
    except (Conflict, Missing) as fault:
        return NotTaken(f"{id}: it has changed meanwhile: {fault}")
    version = seen.owner.node.version + 1 if seen.owner is not None else 0
    kept = [None if empty else node for node in seen.buckets]
    versions = [_next_version(node, empty) for node in seen.buckets]
    return FencedJournal(
        coord, places.owner, version, life, places.buckets, versions, contents(places.buckets, kept)
    )


def _presence(path: str, alive: Node | None, session: int | None) -> Sequence[Operation]:
    if alive is None:
        return [Create(path, NOTHING, ephemeral=True)]
    if alive.ephemeral_owner == session:
        return [Check(path, alive.version)]
    return [Delete(path, alive.version), Create(path, NOTHING, ephemeral=True)]


def _buckets(paths: Sequence[str], nodes: Sequence[Node | None], empty: bool) -> list[Operation]:
    operations: list[Operation] = []
    for path, node in zip(paths, nodes, strict=True):
        if node is None:
            operations.append(Create(path, NOTHING))
        elif empty and node.data:
            operations.append(Set(path, NOTHING, node.version))
        else:
            operations.append(Check(path, node.version))
    return operations


def _next_version(node: Node | None, empty: bool) -> int:
    if node is None:
        return 0
    return node.version + 1 if empty and node.data else node.version
