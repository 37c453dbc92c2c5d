"""An event: attributes for routing and data for the application, and how it is carried.

CloudEvents' context attributes and extensions are the attributes; the data are bytes.
"""

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from regraft.filters import nameable
from regraft.model import BadInput

EVENT_BYTES = 16 * 2**20 - 2**16
"""An encoded event must fit into a frame with room to spare: brokers add to what they pass on."""

Value: TypeAlias = str | int | float | bool


class Event(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What a publisher publishes and a subscriber receives."""

    attributes: dict[str, Value]
    data: bytes = b""


class _Head(msgspec.Struct, array_like=True, gc=False):
    """The part that brokers look at; what follows it is skipped, not copied."""

    attributes: dict[str, Value]


class _RawHead(msgspec.Struct, array_like=True, gc=False):
    attributes: msgspec.Raw


encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Event).decode
_head = msgspec.msgpack.Decoder(_Head).decode
_raw = msgspec.msgpack.Decoder(_RawHead).decode
TWO = 0x92
"""The first byte of an encoded event: an array of two elements."""
SHORT = 4096
"""An event of fewer bytes is decoded whole: that is faster than skipping its data."""


class NotAnEvent(BadInput):
    """Bytes that are not an encoded event."""


def attributes(event: bytes) -> dict[str, Value]:
    """The attributes of an encoded event, by which it is routed."""
    try:
        return decode(event).attributes if len(event) < SHORT else _head(event).attributes
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise NotAnEvent("event", str(fault)) from None


def check_names(attributes: Iterable[str]) -> None:
    """Refuse names that no filter can write: such an event could be published, but never subscribed to."""
    for name in attributes:
        if not nameable(name):
            raise BadInput(
                f"attribute {name[:80]!r}",
                "no filter can name it: a name has lower-case letters (a-z) and digits, is not a number, "
                "and is not a word of the filter language such as 'and' or 'in'",
            )


def refusal(event: bytes) -> str:
    """Why these bytes may not be published; empty if they may."""
    try:
        check_names(decode(event).attributes)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return f"not an event: {fault}"
    except BadInput as fault:
        return str(fault)
    return ""


def is_event(event: bytes) -> bool:
    """Whether these bytes are an encoded event."""
    try:
        decode(event)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def head(event: bytes) -> bytes:
    """The bytes that hold its attributes: an event that begins with them has the same ones."""
    try:
        return event[: 1 + len(_raw(event).attributes)] if event[0] == TWO else event
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise NotAnEvent("event", str(fault)) from None
