"""What managers say to each other, as frames of MessagePack.

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

import msgspec

from regraft.model.facts import Event, Load
from regraft.wire.frames import Format


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

FORMAT: Format[Message, Message] = Format(Message, largest=2 << 20)
