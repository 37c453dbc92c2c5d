"""What a host and a worker say to each other on their socket: a length in four bytes, then msgpack."""

import struct
from typing import Any

import msgspec

from regraft.heal.components.manifest import Manifest
from regraft.heal.components.messages import Answered, CallId, Task
from regraft.heal.components.working import Point

LENGTH = struct.Struct(">I")
MOST_FRAME = 64 << 20


class _Piped(msgspec.Struct, frozen=True, kw_only=True, tag_field="is"):
    pass


class Begin(_Piped, frozen=True, kw_only=True, tag="begin"):
    """Become this component, and stand."""

    bundle: str
    """Path of the file, which the host has checked."""
    manifest: Manifest
    name: str
    place: str
    origin: str
    cells: dict[str, bytes]
    tasks: list[tuple[CallId, Task]]
    log: str
    """Path: where its standard output and error go."""


class Proceed(_Piped, frozen=True, kw_only=True, tag="proceed"):
    pass


class Do(_Piped, frozen=True, kw_only=True, tag="do"):
    id: CallId
    method: str
    arguments: bytes


class Halt(_Piped, frozen=True, kw_only=True, tag="halt"):
    """Come to a point, report it, and stand."""


class Returned(_Piped, frozen=True, kw_only=True, tag="returned"):
    """Of the one call that the component waits for."""

    answer: Answered


class Begun(_Piped, frozen=True, kw_only=True, tag="begun"):
    pass


class At(_Piped, frozen=True, kw_only=True, tag="at"):
    id: CallId


class Reached(_Piped, frozen=True, kw_only=True, tag="reached"):
    point: Point


class CallOut(_Piped, frozen=True, kw_only=True, tag="call out"):
    """The component calls another one, or itself would: by name."""

    id: CallId
    answered: int
    name: str
    method: str
    arguments: bytes


class Broken(_Piped, frozen=True, kw_only=True, tag="broken"):
    """The last words of a worker."""

    reason: str


Down = Begin | Proceed | Do | Halt | Returned
Up = Begun | At | Reached | CallOut | Broken
DOWN: Any = msgspec.msgpack.Decoder(Down)
UP: Any = msgspec.msgpack.Decoder(Up)
_encode = msgspec.msgpack.Encoder().encode


def framed(message: Down | Up) -> bytes:
    body = _encode(message)
    return LENGTH.pack(len(body)) + body
