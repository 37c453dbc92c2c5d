"""What an agent and its broker say to each other: one JSON object on a line (IPITT §IV-C).

The agent's first line is the token. Every request has a number, and its answer the same one; a line with the
number 0 comes unasked: something has changed. What is said of the broker's state has been synchronised to the
disk by then.

| request | with | answered by |
|---|---|---|
| state | | the state |
| prepare | a change, addresses | the state, or why it is refused |
| commit, abort | the change's id | the state, or why it is refused |
| introduce | addresses | nothing |

It loads nothing of a broker: agents are small.
"""

from typing import Literal

import msgspec

from regraft.wire.frames import Format

Address = tuple[str, int]
LINE_BYTES = 2**20


class Hello(msgspec.Struct, frozen=True):
    token: str


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    n: int
    do: Literal["state", "prepare", "commit", "abort", "introduce"]
    id: str = ""
    operation: str = ""
    brokers: tuple[str, ...] = ()
    addresses: dict[str, Address] = {}
    """Of brokers that may have to be called."""


class BrokerState(msgspec.Struct, frozen=True):
    """How a broker is, at one moment."""

    life: int
    address: Address
    stages: dict[str, str] = {}
    """How far it is with each change of links."""
    links: dict[str, str] = {}
    """Neighbour → up or down."""
    held_bytes: int = 0
    sessions: int = 0
    clients: int = 0
    publications: int = 0
    """That have arrived since its start."""
    bytes_in: int = 0
    bytes_out: int = 0


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    n: int = 0
    refused: str = ""
    state: BrokerState | None = None


GREETED: Format[Hello | Request, Answer] = Format(Hello, LINE_BYTES, lines=True)
"""The broker's end, before the token was given."""
DRIVEN: Format[Hello | Request, Answer] = Format(Request, LINE_BYTES, lines=True)
"""The broker's end, afterwards."""
DRIVING: Format[Answer, Hello | Request] = Format(Answer, LINE_BYTES, lines=True)
"""The agent's end."""
