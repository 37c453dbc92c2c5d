"""Who is which broker: what an owner node holds, and what a takeover is based on. Values only.

`ownership` reads and writes them in ZooKeeper.
"""

from enum import Enum
from typing import Any, NamedTuple

from regraft.model.record import Record


class Owner(Record, frozen=True, kw_only=True):
    """`life` grows by one with each owner. `by`: the broker in whose process a deputy runs; empty: itself.

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
    """What allows a takeover."""

    VACANT = "no session holds it"
    """Nobody has it, or the session of who had it has ended."""
    PROCESS_GONE = "its process is gone"
    """Nobody listens any more where it was: whatever session there is, nobody uses it."""


class NotTaken(NamedTuple):
    """The expected no."""

    reason: str


class Seen(NamedTuple):
    """What a dead broker has left. `session`: the one that its presence belongs to; 0 if it has none.

    `basis` is what the takeover is based on, for whoever carries it out.
    """

    owner: Owner | None
    session: int
    basis: Any
