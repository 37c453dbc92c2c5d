"""The values of this package: a node as read, a change of the connection, the parts of a transaction."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class Node(NamedTuple):
    """A znode as it was when it was read."""

    data: bytes
    version: int
    """Counts the writes of the data; 0 after creation."""
    ephemeral_owner: int
    """The session that the node lives and dies with; 0: it stays."""
    czxid: int
    """The transaction that created it: grows with every creation on the ensemble, so it orders them."""
    mzxid: int
    """The transaction that wrote the data last."""


class State(Enum):
    CONNECTED = "connected"
    SUSPENDED = "suspended"
    """No connection; the session, and its ephemeral nodes, may live on or have expired meanwhile."""
    LOST = "lost"
    """The session has expired: its ephemeral nodes are gone. A new session follows by itself."""
    CLOSED = "closed"
    """By `stop`, or because the credentials were refused. Final."""


class Change(NamedTuple):
    """The connection's state has changed."""

    state: State
    session_id: int | None
    new_session: bool
    """First connection of this session: ephemeral nodes of an earlier one are gone."""


@dataclass(frozen=True, slots=True)
class Create:
    """`sequence`: a unique name and a growing number are added to the path."""

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequence: bool = False


@dataclass(frozen=True, slots=True)
class Set:
    """Version -1 writes over whatever is there."""

    path: str
    data: bytes
    version: int


@dataclass(frozen=True, slots=True)
class Delete:
    path: str
    version: int = -1


@dataclass(frozen=True, slots=True)
class Check:
    """The transaction happens only if the node is there with this version."""

    path: str
    version: int = -1


Operation = Create | Set | Delete | Check
