"""The owner of a broker: what its node holds, and what a takeover is based on. Values only.

`ownership` reads and writes them in ZooKeeper.
"""

from enum import Enum
from typing import Any, NamedTuple

from regraft.model.record import Record


class Owner(Record, frozen=True, kw_only=True):
    """`life` grows by one with each owner. `by`: the broker in whose process a deputy runs; empty for the
    broker itself.

    `process` tells two starts of one broker apart.
    """

    life: int
    host: str = ""
    port: int = 0
    heal_host: str = ""
    heal_port: int = 0
    by: str = ""
    since: float = 0.0
    process: str = ""


class Why(Enum):
    """Why a takeover is allowed."""

    VACANT = "no session holds it"
    """It has no owner, or the session of its owner has ended."""
    PROCESS_GONE = "its process is gone"
    """Its address refuses connections: if its session still exists, no process uses it."""


class NotTaken(NamedTuple):
    """Why the broker was not taken over."""

    reason: str


class Seen(NamedTuple):
    """What a dead broker has left. `session`: the one that its presence belongs to; 0 if it has none.

    `basis` is what the takeover is based on, for the shell that carries it out.
    """

    owner: Owner | None
    session: int
    basis: Any
