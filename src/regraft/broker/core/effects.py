"""What the core asks the shell to do. The shell does it in the order given and decides nothing.

A `Store` is durable before any later `Send` leaves: a subscription that was confirmed to a client is
known again after a crash.
"""

from typing import NamedTuple, TypeAlias

from regraft.protocol.messages import AnyMessage


class Send(NamedTuple):
    connection: int
    message: AnyMessage


class Close(NamedTuple):
    """Close the connection after what was sent on it; `reason` is for the log."""

    connection: int
    reason: str


class Dial(NamedTuple):
    """Keep trying to connect to this neighbour until it succeeds or `Hangup`."""

    neighbour: str


class Hangup(NamedTuple):
    """No longer a neighbour: stop trying."""

    neighbour: str


class Store(NamedTuple):
    """Remember `value` under `key` beyond a crash; None forgets it."""

    key: str
    value: bytes | None


class Report(NamedTuple):
    """To the agent: this broker's part in a change of links is `ready`, `done` or `aborted`."""

    change: str
    stage: str


Effect: TypeAlias = Send | Close | Dial | Hangup | Store | Report
