"""Who may do what with the nodes: only the identity that this client has shown writes.

Nodes get their ACL when they are created. `secure` is for those that are there already: made by a run
without credentials, or by somebody else before us.
"""

from typing import Any

from kazoo.security import Permissions, make_acl

from regraft.coord.configuration import Configuration


def acl_of(configuration: Configuration) -> list[Any] | None:
    """None: open to everybody. `auth` stands for every identity that the session has shown."""
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
