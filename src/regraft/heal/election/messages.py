"""The messages between the brokers of a group, and their bytes.

| message | Mimosa Pudica | says |
|---|---|---|
| GroupInfo | [GI, B_k … B_p] | who decides; the asker passes the database's answer on |
| Vote | [LEADER, B_q, v] | I follow B_q in view v, and no earlier leader; this I have accepted so far |
| NewLeader | [NL, B_q, v, action] | the majority follows me; this is to be done |
| Accepted | - | I have written down your decision of view v, or know that it is decided |
| Decided | - | a majority has accepted this decision |
"""

import msgspec

from regraft.heal.grant import Grant
from regraft.model import BadInput
from regraft.model.intents import Intent

Decision = tuple[Intent, ...]
"""F(rules): what the leader has decided to do. It may be empty."""
MAX_BYTES = 1 << 20


class Proposal(msgspec.Struct, frozen=True):
    view: int
    decision: Decision


class _Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """`life` is the sender's."""

    election: str
    life: int = 0


class GroupInfo(_Message, frozen=True, kw_only=True, tag="GI"):
    grant: Grant


class Vote(_Message, frozen=True, kw_only=True, tag="LEADER"):
    leader: str
    view: int
    accepted: Proposal | None = None


class NewLeader(_Message, frozen=True, kw_only=True, tag="NL"):
    view: int
    decision: Decision


class Accepted(_Message, frozen=True, kw_only=True, tag="ACCEPTED"):
    view: int


class Decided(_Message, frozen=True, kw_only=True, tag="DECIDED"):
    leader: str
    view: int
    decision: Decision


Message = GroupInfo | Vote | NewLeader | Accepted | Decided

_ENCODER = msgspec.msgpack.Encoder()
_DECODER: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)


def encode(message: Message) -> bytes:
    return _ENCODER.encode(message)


def decode(data: bytes) -> Message:
    """`BadInput` if these bytes are no message of an election."""
    if len(data) > MAX_BYTES:
        raise BadInput("election", f"a message of {len(data)} bytes, where {MAX_BYTES} are allowed")
    try:
        message = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise BadInput("election", f"not a message: {str(fault).splitlines()[0]}") from None
    if getattr(message, "view", 0) < 0:
        raise BadInput("election", "views count from 0")
    return message
