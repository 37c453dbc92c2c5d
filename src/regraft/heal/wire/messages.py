"""What managers say to each other, and its bytes: a length in four bytes, then MessagePack.

| message | says |
|---|---|
| Hello | who I am, in which life, and the secret that only managers know; the first of both sides |
| Ping, Pong | is that broker there, which you are or have a deputy of; yes, and this busy |
| Ballot | a message of an election (`election.messages`) |
| Cause | with a group: the event that it is about, and how long the phases before the election took |
| Here | this broker is there now: it has another owner |
| CarriedOut | what that election has decided is done |
| AskReach, Reach | have you a connection to that broker that works; yes or no |
| AskJoin, Answer | a broker that is outside asks for an `add`; accepted, or why not |
| SendAway, Answer | clients are to leave the broker |
"""

import struct

import msgspec

from regraft.model import BadInput
from regraft.model.facts import Event, Load

MAX_FRAME = 2 << 20
LENGTH = struct.Struct(">I")


class _Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="m", array_like=True):
    pass


class Hello(_Message, frozen=True, kw_only=True, array_like=True, tag="hello"):
    id: str
    life: int
    token: str = ""


class Ping(_Message, frozen=True, kw_only=True, array_like=True, tag="ping"):
    number: int
    broker: str


class Pong(_Message, frozen=True, kw_only=True, array_like=True, tag="pong"):
    number: int
    broker: str
    load: Load | None = None


class Ballot(_Message, frozen=True, kw_only=True, array_like=True, tag="ballot"):
    data: bytes


class Cause(_Message, frozen=True, kw_only=True, array_like=True, tag="cause"):
    election: str
    cause: str
    event: Event
    timeout_ms: float = 0.0
    vote_ms: float = 0.0


class Here(_Message, frozen=True, kw_only=True, array_like=True, tag="here"):
    broker: str
    life: int
    host: str
    port: int
    by: str = ""
    heal_host: str = ""
    heal_port: int = 0


class CarriedOut(_Message, frozen=True, kw_only=True, array_like=True, tag="done"):
    election: str


class AskReach(_Message, frozen=True, kw_only=True, array_like=True, tag="reach?"):
    number: int
    broker: str


class Reach(_Message, frozen=True, kw_only=True, array_like=True, tag="reach"):
    number: int
    reached: bool


class AskJoin(_Message, frozen=True, kw_only=True, array_like=True, tag="join?"):
    """`beside`: where it would like to be; none: anywhere."""

    number: int
    broker: str
    beside: tuple[str, ...] = ()


class SendAway(_Message, frozen=True, kw_only=True, array_like=True, tag="away?"):
    number: int
    broker: str
    seconds: float


class Answer(_Message, frozen=True, kw_only=True, array_like=True, tag="answer"):
    number: int
    refused: str = ""


Message = (
    Hello | Ping | Pong | Ballot | Cause | Here | CarriedOut | AskReach | Reach | AskJoin | SendAway | Answer
)

_ENCODE = msgspec.msgpack.Encoder().encode
_DECODER: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)


def frame(message: Message) -> bytes:
    body = _ENCODE(message)
    return LENGTH.pack(len(body)) + body


class Frames:
    """Bytes as they come → messages; `BadInput` if they are none."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def add(self, data: bytes) -> list[Message]:
        self._kept += data
        found: list[Message] = []
        while len(self._kept) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(self._kept)
            if length > MAX_FRAME:
                raise BadInput("manager", f"a frame of {length} bytes, where {MAX_FRAME} are allowed")
            if len(self._kept) < LENGTH.size + length:
                break
            body = bytes(self._kept[LENGTH.size : LENGTH.size + length])
            del self._kept[: LENGTH.size + length]
            found.append(_message(body))
        return found


def _message(body: bytes) -> Message:
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise BadInput("manager", f"not a message: {str(fault).splitlines()[0]}") from None
