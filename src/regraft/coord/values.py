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
    """The session that the node ends with; 0: the node is not ephemeral."""
    czxid: int
    """The transaction that created it: grows with every creation on the ensemble, so it orders them."""
    mzxid: int
    """The transaction that wrote the data last."""


class ConnectionState(Enum):
    CONNECTED = "connected"
    SUSPENDED = "suspended"
    """No connection. The session, with its ephemeral nodes, may still live or have expired."""
    LOST = "lost"
    """The session has expired: its ephemeral nodes are gone. A new session follows by itself."""
    CLOSED = "closed"
    """Final: after `stop`, or because the credentials were refused."""


class ConnectionChange(NamedTuple):
    """The connection's state has changed."""

    state: ConnectionState
    session_id: int | None
    new_session: bool
    """Whether this is the first connection of its session: ephemeral nodes of an earlier one are gone."""


@dataclass(frozen=True, slots=True)
class Create:
    """`sequence`: a unique name and a growing number are added to the path."""

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequence: bool = False


@dataclass(frozen=True, slots=True)
class Set:
    """Version -1 overwrites any version."""

    path: str
    data: bytes
    version: int


@dataclass(frozen=True, slots=True)
class Delete:
    path: str
    version: int = -1


@dataclass(frozen=True, slots=True)
class Check:
    """The transaction happens only if the node exists with this version (-1: with any)."""

    path: str
    version: int = -1


Operation = Create | Set | Delete | Check
