"""How managers talk to each other: one connection for each two that have something to say."""

from regraft.heal.wire.connections import Connections
from regraft.heal.wire.messages import (
    Answer,
    AskJoin,
    AskReach,
    Ballot,
    CarriedOut,
    Cause,
    Here,
    Message,
    Ping,
    Pong,
    Reach,
    SendAway,
)

__all__ = [
    "Answer",
    "AskJoin",
    "AskReach",
    "Ballot",
    "CarriedOut",
    "Cause",
    "Connections",
    "Here",
    "Message",
    "Ping",
    "Pong",
    "Reach",
    "SendAway",
]
