"""ZooKeeper for Regraft: the client, the tree of IPITT Figure 4, leases, and servers of our own.

The only package that imports kazoo. It knows nodes and bytes, not plans: the packages that write nodes define
what they hold (`deploy`, `heal`), and use `typed` to read and write it. See docs/coordination.md.
"""

from regraft.coord.client import Coord
from regraft.coord.configuration import Configuration, Digest, Sasl, Tls
from regraft.coord.embedded import Ensemble
from regraft.coord.errors import (
    Conflict,
    CoordError,
    CoordUnreachable,
    Corrupt,
    Denied,
    Exists,
    LeaseLost,
    Missing,
    TooLarge,
    Unknown,
)
from regraft.coord.layout import Layout
from regraft.coord.lease import Held, Lease, acquire
from regraft.coord.presence import Presence
from regraft.coord.typed import Stored
from regraft.coord.values import (
    Check,
    ConnectionChange,
    ConnectionState,
    Create,
    Delete,
    Node,
    Operation,
    Set,
)
from regraft.model.record import Record

__all__ = [
    "Check",
    "Configuration",
    "Conflict",
    "ConnectionChange",
    "ConnectionState",
    "Coord",
    "CoordError",
    "CoordUnreachable",
    "Corrupt",
    "Create",
    "Delete",
    "Denied",
    "Digest",
    "Ensemble",
    "Exists",
    "Held",
    "Layout",
    "Lease",
    "LeaseLost",
    "Missing",
    "Node",
    "Operation",
    "Presence",
    "Record",
    "Sasl",
    "Set",
    "Stored",
    "Tls",
    "TooLarge",
    "Unknown",
    "acquire",
]
