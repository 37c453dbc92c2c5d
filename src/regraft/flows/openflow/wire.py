"""The frame of OpenFlow 1.3: headers, and the type-length-value lists of matches, actions and instructions.

Everything is big-endian. Reading is strict: a length that does not fit raises `Garbage` and says where.
References are to the OpenFlow Switch Specification 1.3.5.
"""

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import NamedTuple

from regraft.model import RegraftError

VERSION = 4
HEADER = Struct("!BBHI")
"""Version, type, length, transaction id (§7.1)."""

OXM_BASIC = 0x8000
_OXM = Struct("!HBB")
_TYPE_LENGTH = Struct("!HH")
_MATCH_OXM = 1


class Garbage(RegraftError):
    """The bytes received are not OpenFlow 1.3."""


class Oxm(NamedTuple):
    """One field of a match (§7.2.2.2): class, number, value, and a mask if not all bits are compared."""

    oxm_class: int
    field: int
    value: bytes
    mask: bytes | None = None


class Item(NamedTuple):
    """An action or an instruction: its type, and the bytes behind type and length, padding included."""

    type: int
    body: bytes


def write_message(type_: int, xid: int, body: bytes = b"") -> bytes:
    return HEADER.pack(VERSION, type_, HEADER.size + len(body), xid) + body


def write_oxm(oxm: Oxm) -> bytes:
    payload = oxm.value + (oxm.mask or b"")
    return _OXM.pack(oxm.oxm_class, oxm.field << 1 | (oxm.mask is not None), len(payload)) + payload


def write_match(oxms: Iterable[Oxm]) -> bytes:
    fields = b"".join(map(write_oxm, oxms))
    length = _TYPE_LENGTH.size + len(fields)
    return padded(_TYPE_LENGTH.pack(_MATCH_OXM, length) + fields)


def write_items(items: Iterable[Item]) -> bytes:
    return b"".join(
        _TYPE_LENGTH.pack(item.type, _TYPE_LENGTH.size + len(item.body)) + item.body for item in items
    )


def padded(data: bytes) -> bytes:
    """The data padded to a multiple of 8 bytes."""
    return data + bytes(-len(data) % 8)


def read_oxms(data: bytes) -> Iterator[Oxm]:
    at = 0
    while at < len(data):
        if at + _OXM.size > len(data):
            raise Garbage("a field of a match is cut off")
        oxm_class, field, length = _OXM.unpack_from(data, at)
        at += _OXM.size
        payload = data[at : at + length]
        if len(payload) < length or (field & 1 and length % 2):
            raise Garbage("a field of a match has the wrong length")
        at += length
        half = length // 2
        if field & 1:
            yield Oxm(oxm_class, field >> 1, payload[:half], payload[half:])
        else:
            yield Oxm(oxm_class, field >> 1, payload)


def read_match(data: bytes, at: int) -> tuple[tuple[Oxm, ...], int]:
    """The fields, and the position behind the padded match."""
    if at + _TYPE_LENGTH.size > len(data):
        raise Garbage("a match is cut off")
    kind, length = _TYPE_LENGTH.unpack_from(data, at)
    if kind != _MATCH_OXM or length < _TYPE_LENGTH.size or at + length > len(data):
        raise Garbage(f"a match of type {kind} and length {length}")
    oxms = tuple(read_oxms(data[at + _TYPE_LENGTH.size : at + length]))
    return oxms, at + length + -length % 8


def read_items(data: bytes) -> Iterator[Item]:
    at = 0
    while at < len(data):
        if at + _TYPE_LENGTH.size > len(data):
            raise Garbage("an action or instruction is cut off")
        kind, length = _TYPE_LENGTH.unpack_from(data, at)
        if length < 8 or length % 8 or at + length > len(data):
            raise Garbage(f"an action or instruction of length {length}")
        yield Item(kind, data[at + _TYPE_LENGTH.size : at + length])
        at += length
