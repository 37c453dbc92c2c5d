"""Nodes that hold typed values: JSON of msgspec Structs, with the version of their schema in `v`.

Unknown fields are ignored, so a later version of Regraft may add some. A node that cannot be decoded, or
that has a higher `v`, is `Corrupt`: it is reported with the repair, and never overwritten.
"""

from collections.abc import AsyncIterator
from typing import Generic, NamedTuple, TypeVar

import msgspec

from regraft.coord.client import Coord
from regraft.coord.errors import Corrupt
from regraft.coord.layout import corrupt
from regraft.coord.values import Node
from regraft.model.record import Record

_ENCODER = msgspec.json.Encoder(order="deterministic")


R = TypeVar("R", bound=Record)


class Stored(NamedTuple, Generic[R]):
    """A value and the node that it was read from; `node.version` is what the next write expects."""

    value: R
    node: Node


def encode(value: Record) -> bytes:
    return _ENCODER.encode(value)


def decode(path: str, data: bytes, type: type[R]) -> R:
    try:
        value = msgspec.json.decode(data, type=type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:  # ValidationError is one
        raise corrupt(path, f"does not hold a {type.__name__}: {str(fault).splitlines()[0]}") from None
    newest = next(field.default for field in msgspec.structs.fields(type) if field.name == "v")
    if value.v > newest:
        reason = f"holds version {value.v} of {type.__name__}, and this Regraft reads {newest}"
        raise Corrupt(path, reason, "use the Regraft that wrote it, or a later one")
    return value


async def read(coord: Coord, path: str, type: type[R]) -> Stored[R] | None:
    node = await coord.get(path)
    return None if node is None else _stored(coord, path, node, type)


def _stored(coord: Coord, path: str, node: Node, type: type[R]) -> Stored[R]:
    try:
        return Stored(decode(path, node.data, type), node)
    except Corrupt as fault:
        raise fault.at(coord.configuration.hosts) from None


async def write(coord: Coord, path: str, value: R, expected: Node | None) -> Node:
    """Compare and set: replace `expected` as it was read, or (None) create the node. `Conflict` otherwise."""
    if expected is not None:
        return await coord.set(path, encode(value), expected.version)
    await coord.create(path, encode(value))
    node = await coord.get(path)
    return node if node is not None else Node(encode(value), 0, 0, 0, 0)


async def watch(coord: Coord, path: str, type: type[R]) -> AsyncIterator[Stored[R] | Corrupt | None]:
    """The value now and after each change. A corrupt node is a value, too: the watch continues."""
    async for node in coord.watch(path):
        if node is None:
            yield None
            continue
        try:
            stored = _stored(coord, path, node, type)
        except Corrupt as fault:
            yield fault
        else:
            yield stored
