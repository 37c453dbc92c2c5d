"""An event: attributes for routing and data for the application, and how it is carried.

CloudEvents' context attributes and extensions are the attributes; the data are bytes.
"""

from typing import TypeAlias

import msgspec

from regraft.model import BadInput

Value: TypeAlias = str | int | float | bool


class Event(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What a publisher publishes and a subscriber receives."""

    attributes: dict[str, Value]
    data: bytes = b""


class _Head(msgspec.Struct, array_like=True, gc=False):
    """The part that brokers look at; what follows it is skipped, not copied."""

    attributes: dict[str, Value]


encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Event).decode
_head = msgspec.msgpack.Decoder(_Head).decode


class NotAnEvent(BadInput):
    """Bytes that are no encoded event."""


def attributes(event: bytes) -> dict[str, Value]:
    """What an encoded event is routed by."""
    try:
        return _head(event).attributes
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise NotAnEvent("event", str(fault)) from None
