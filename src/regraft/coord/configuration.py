"""Where the ensemble is, who we are, and who may write our nodes.

Nodes get their ACL when they are created. `Coord.secure` is for nodes that exist already: created by a run
without credentials, or by another client before us.
"""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from kazoo.hosts import collect_hosts
from kazoo.security import Permissions, make_acl

from regraft.model import BadInput

World = Literal["read", "nothing"]


@dataclass(frozen=True)
class Digest:
    """ZooKeeper's own scheme: `user:password`, known to the server only as a hash in its ACLs."""

    user: str
    password: str = field(repr=False)

    def __post_init__(self) -> None:
        if not self.user or ":" in self.user:
            raise BadInput("ZooKeeper user", "must be a name without a colon")


@dataclass(frozen=True)
class Sasl:
    """DIGEST-MD5 with a name and password that the server knows (JAAS), or GSSAPI (Kerberos)."""

    user: str = ""
    password: str = field(default="", repr=False)
    mechanism: Literal["DIGEST-MD5", "GSSAPI"] = "DIGEST-MD5"
    service: str = "zookeeper"


Auth = Digest | Sasl


@dataclass(frozen=True)
class Tls:
    """PEM files. Without an `authority`, those of the system are trusted; with one, only that one."""

    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    check_hostname: bool = True

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise BadInput("TLS", "a certificate and its key must be given together")
        for file in (self.authority, self.certificate, self.key):
            if file is not None and not os.access(file, os.R_OK):
                raise BadInput(str(file), "cannot be read")


@dataclass(frozen=True)
class Configuration:
    """Everything that a connection needs.

    With `auth`, or with a client's certificate in `tls`, every node is created so that only this identity
    writes; the `world` may read, or not even that. Without either, nodes are open to everybody who
    reaches the ensemble.
    """

    hosts: str
    auth: Auth | None = None
    tls: Tls | None = None
    world: World = "read"
    timeout: float = 10.0
    """Seconds that one call may take, including reconnecting."""
    session_timeout: float = 10.0
    """Seconds of silence after which the servers delete our ephemeral nodes. They may limit this value."""

    def __post_init__(self) -> None:
        try:
            collect_hosts(self.hosts)
        except ValueError as fault:
            raise BadInput("ZooKeeper", f"{self.hosts!r} is not host:port,… ({fault})") from None
        if re.search(r":0*(,|/|$)", self.hosts):  # kazoo would use the default port
            raise BadInput("ZooKeeper", f"{self.hosts!r} has a port outside 1–65535")
        if not (self.timeout > 0 and self.session_timeout > 0):
            raise BadInput("ZooKeeper", "time limits must be above 0 seconds")


def acl_of(configuration: Configuration) -> list[Any] | None:
    """None: everyone may do everything. `auth` stands for every identity that the session has shown."""
    if not has_identity(configuration):
        return None
    ours = [make_acl("auth", "", all=True)]
    return [*ours, make_acl("world", "anyone", read=True)] if configuration.world == "read" else ours


def has_identity(configuration: Configuration) -> bool:
    certificate = configuration.tls.certificate if configuration.tls is not None else None
    return configuration.auth is not None or certificate is not None


def too_open(entries: list[Any], configuration: Configuration) -> bool:
    """Whether the world may do more with a node than it should."""
    allowed = Permissions.READ if configuration.world == "read" else 0
    return any(entry.id.scheme in ("world", "ip") and entry.perms & ~allowed for entry in entries)
