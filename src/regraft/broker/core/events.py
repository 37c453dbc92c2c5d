"""An event: attributes for routing and data for the application, and how it is carried.

CloudEvents' context attributes and extensions are the attributes; the data are bytes.
"""

from typing import TypeAlias

import msgspec

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


def attributes(event: bytes) -> dict[str, Value]:
    """What an encoded event is routed by."""
    return _head(event).attributes
