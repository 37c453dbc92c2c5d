"""What an agent and its broker say to each other: one JSON object on a line (IPITT §IV-C).

The agent's first line is the token. Every request has a number, and its answer the same one; a line with the
number 0 comes unasked: something has changed. Whatever is said of the broker's state is already on the
disk.

| request | with | answered by |
|---|---|---|
| state | | the state |
| prepare | a change, addresses | the state, or why it is refused |
| commit, abort | the change's id | the state, or why it is refused |
| introduce | addresses, candidates | nothing, or why it is refused |

The module imports nothing of a broker, so that agents stay small.
"""

from typing import Literal

import msgspec

from regraft.wire.frames import Format

Address = tuple[str, int]
LINE_BYTES = 2**20


class ControlHello(msgspec.Struct, frozen=True):
    token: str


class ControlRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    n: int
    do: Literal["state", "prepare", "commit", "abort", "introduce"]
    id: str = ""
    operation: str = ""
    brokers: tuple[str, ...] = ()
    addresses: dict[str, Address] = {}
    """Addresses of brokers that may have to be called."""
    candidates: dict[str, Address] = {}
    """Addresses of brokers to which round trips may be measured; they may have been replaced meanwhile."""


class BrokerState(msgspec.Struct, frozen=True):
    """The state of a broker at one moment."""

    life: int
    address: Address
    stages: dict[str, str] = {}
    """Change of links → how far it is here."""
    links: dict[str, str] = {}
    """Neighbour → up or down."""
    held_bytes: int = 0
    sessions: int = 0
    clients: int = 0
    publications: int = 0
    """Publications that have arrived since its start."""
    bytes_in: int = 0
    bytes_out: int = 0


class ControlAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    n: int = 0
    refused: str = ""
    state: BrokerState | None = None


GREETED: Format[ControlHello | ControlRequest, ControlAnswer] = Format(ControlHello, LINE_BYTES, lines=True)
"""The broker's end, before the agent has given the token."""
DRIVEN: Format[ControlHello | ControlRequest, ControlAnswer] = Format(ControlRequest, LINE_BYTES, lines=True)
"""The broker's end, after that."""
DRIVING: Format[ControlAnswer, ControlHello | ControlRequest] = Format(ControlAnswer, LINE_BYTES, lines=True)
"""The agent's end."""
