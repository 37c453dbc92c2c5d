"""What brokers ask a destination database, and databases ask each other: frames of msgpack on TCP.

A frame is its length in four bytes and a `Call` or an `Answer`; an answer has the number of its call. Garbage
ends the connection with a reason.
"""

import asyncio
import struct
from typing import Any, TypeVar

import msgspec

from regraft.heal.database.records import Adaptation, BrokerRecord, Garbled, RuleSet
from regraft.heal.grant import Grant, Request

MAX_FRAME = 8 << 20
_LENGTH = struct.Struct(">I")


class _Ask(msgspec.Struct, frozen=True, kw_only=True, tag_field="ask"):
    pass


class AskGrant(_Ask, frozen=True, kw_only=True, tag="LE"):
    request: Request


class Release(_Ask, frozen=True, kw_only=True, tag="release"):
    grant: str


class GetBrokers(_Ask, frozen=True, kw_only=True, tag="get brokers"):
    """No ids: all. `here`: what this database has itself, for a peer that puts the whole together."""

    ids: tuple[str, ...] = ()
    here: bool = False


class PutBroker(_Ask, frozen=True, kw_only=True, tag="put broker"):
    record: BrokerRecord


class Keep(_Ask, frozen=True, kw_only=True, tag="keep"):
    """From a peer: records, documents and adaptations to be stored as they are."""

    brokers: tuple[BrokerRecord, ...] = ()
    documents: dict[str, str] = {}
    adaptations: tuple[Adaptation, ...] = ()


class GetDocument(_Ask, frozen=True, kw_only=True, tag="get document"):
    name: str


class GetRules(_Ask, frozen=True, kw_only=True, tag="get rules"):
    """Answered when the set is newer than `since`, or after `wait` seconds."""

    since: int = -1
    wait: float = 0.0


class PutRules(_Ask, frozen=True, kw_only=True, tag="put rules"):
    """Instead of the set of version `expected`."""

    rules: RuleSet
    expected: int


class PutAdaptation(_Ask, frozen=True, kw_only=True, tag="put adaptation"):
    adaptation: Adaptation


class GetAdaptations(_Ask, frozen=True, kw_only=True, tag="get adaptations"):
    most: int = 100
    here: bool = False


Ask = (
    AskGrant
    | Release
    | GetBrokers
    | PutBroker
    | Keep
    | GetDocument
    | GetRules
    | PutRules
    | PutAdaptation
    | GetAdaptations
)


class Call(msgspec.Struct, frozen=True):
    number: int
    ask: Ask


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """`refused`: why not; one of the others otherwise, or none of them: it is done."""

    number: int
    refused: str = ""
    again: bool = False
    """The refusal is the database's trouble, not the asker's: another one may do it."""
    grant: Grant | None = None
    brokers: tuple[BrokerRecord, ...] = ()
    document: str | None = None
    rules: RuleSet | None = None
    adaptations: tuple[Adaptation, ...] = ()
    copies: int = 0
    """Databases that have what was put."""


def trouble(reason: str) -> Answer:
    """Not this database, not now."""
    return Answer(number=0, refused=reason, again=True)


T = TypeVar("T")


def frame(message: Call | Answer) -> bytes:
    body = msgspec.msgpack.encode(message)
    return _LENGTH.pack(len(body)) + body


async def receive(reader: asyncio.StreamReader, decoder: "msgspec.msgpack.Decoder[T]", place: str) -> T:
    """The next message; `Garbled` if it is none, EOFError at the end of the connection."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > MAX_FRAME:
            raise Garbled(place, f"a frame of {length} bytes, where {MAX_FRAME} are allowed")
        body = await reader.readexactly(length)
    except asyncio.IncompleteReadError:
        raise EOFError(place) from None
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise Garbled(place, f"not a message: {str(fault).splitlines()[0]}") from None
    except Exception as fault:  # a constructor's own check, such as that of Request
        raise Garbled(place, f"not a message: {fault}") from None


CALLS: Any = msgspec.msgpack.Decoder(Call)
ANSWERS: Any = msgspec.msgpack.Decoder(Answer)
