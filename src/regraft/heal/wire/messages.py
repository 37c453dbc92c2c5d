"""What managers say to each other, as frames of MessagePack.

| message | says |
|---|---|
| Hello | who I am, in which life, and the secret that only managers know; the first of both sides |
| Ping, Pong | does this broker, yours or a deputy, run at your node; yes, and this is the load |
| PackedBallot | a message of an election (`election.messages`) |
| Cause | why an election begins: the event, and how long the phases before the election took |
| NewOwner | this broker has a new owner, at this address |
| CarriedOut | the decision of that election has been carried out |
| AskReach, Reach | do you have a working connection to that broker; yes or no |
| AskJoin, Answer | a broker outside the overlay asks to be added; accepted, or why not |
| SendAway, Answer | clients are to leave the broker |
"""

import msgspec

from regraft.heal.owner import Owner
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


class PackedBallot(_Message, frozen=True, kw_only=True, array_like=True, tag="ballot"):
    data: bytes


class Cause(_Message, frozen=True, kw_only=True, array_like=True, tag="cause"):
    election: str
    cause: str
    event: Event
    timeout_ms: float = 0.0
    vote_ms: float = 0.0


_OWNER_FIELDS = ("life", "host", "port", "by", "heal_host", "heal_port")


class NewOwner(_Message, frozen=True, kw_only=True, array_like=True, tag="here"):
    broker: str
    life: int
    host: str
    port: int
    by: str = ""
    heal_host: str = ""
    heal_port: int = 0

    @classmethod
    def of(cls, broker: str, owner: Owner) -> "NewOwner":
        return cls(broker=broker, **{name: getattr(owner, name) for name in _OWNER_FIELDS})

    @property
    def owner(self) -> Owner:
        return Owner(**{name: getattr(self, name) for name in _OWNER_FIELDS})


class CarriedOut(_Message, frozen=True, kw_only=True, array_like=True, tag="done"):
    election: str


class AskReach(_Message, frozen=True, kw_only=True, array_like=True, tag="reach?"):
    number: int
    broker: str


class Reach(_Message, frozen=True, kw_only=True, array_like=True, tag="reach"):
    number: int
    reached: bool


class AskJoin(_Message, frozen=True, kw_only=True, array_like=True, tag="join?"):
    """`beside`: the brokers that it would join beside; empty: anywhere."""

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
    Hello
    | Ping
    | Pong
    | PackedBallot
    | Cause
    | NewOwner
    | CarriedOut
    | AskReach
    | Reach
    | AskJoin
    | SendAway
    | Answer
)

FORMAT: Format[Message, Message] = Format(Message, largest=2 << 20)
