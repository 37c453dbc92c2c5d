"""How the server listens, and the rule that keeps it safe by default.

It listens on the loopback interface, where everybody who can reach it is trusted, unless users are given. It
refuses to listen anywhere else without users, and to send their tokens over a network in the clear.
"""

import ipaddress
import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from regraft.model import BadInput
from regraft.serve.configuration import WEB_TOKENS, WebSection
from regraft.web.rate import Rate
from regraft.web.users import ROLES, Users, read_users

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
READS, CHANGES, FAILURES = Rate(10.0, 200), Rate(1.0, 30), Rate(0.1, 10)


@dataclass(frozen=True)
class WebSettings:
    """Everything the server needs to know, checked."""

    host: str = "127.0.0.1"
    port: int = 0
    certificate: Path | None = None
    key: Path | None = None
    authority: Path | None = None
    """Client certificates that this authority has signed are trusted."""
    users: Users = field(default_factory=Users)
    hosts: tuple[str, ...] = ()
    """Names that `Host` may have, beside those of the loopback interface and `host`."""
    plain_http: bool = False
    """A proxy in front of the server speaks TLS."""
    reads: Rate = READS
    changes: Rate = CHANGES
    failures: Rate = FAILURES
    """Wrong tokens from one address."""
    streams: int = 64
    """Event streams that may be open at a time."""
    streams_each: int = 16
    """How many of them one user may have; without users, one address."""
    audit_log: Path | None = None

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise BadInput("web", "a certificate needs its key, and a key its certificate")
        if self.authority is not None and self.certificate is None:
            raise BadInput("web", "client certificates need a server certificate and its key")
        if self.users.certificates and self.authority is None:
            name = next(iter(self.users.certificates))
            raise BadInput("web", f"user {name!r} has a certificate, but no authority says which are genuine")
        if not is_loopback(self.host):
            self._check_beyond_loopback()

    def _check_beyond_loopback(self) -> None:
        place = f"web: {self.host}"
        if not self.users:
            raise BadInput(place, "only the loopback interface is served without users; give tokens first")
        if self.certificate is None and not self.plain_http:
            raise BadInput(
                place, "tokens would cross the network in the clear; give a certificate, or say plain_http"
            )

    @property
    def secure(self) -> bool:
        return self.certificate is not None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it. Names other than localhost are not resolved: not loopback."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def settings_of(configuration: WebSection) -> WebSettings:
    """The settings that a configuration asks for, with the secrets from file and environment."""
    users = read_users(configuration.tokens_file) if configuration.tokens_file else Users()
    users = _from_environment(users, WEB_TOKENS)
    per_second = configuration.requests_per_minute / 60
    settings = WebSettings(
        host=configuration.host,
        port=configuration.port,
        certificate=configuration.certificate,
        key=configuration.key,
        authority=configuration.ca,
        users=users,
        hosts=configuration.hosts,
        plain_http=configuration.plain_http,
        audit_log=configuration.audit_log,
    )
    changes = Rate(per_second / 10, settings.changes.burst)
    return replace(settings, reads=Rate(per_second, settings.reads.burst), changes=changes)


def _from_environment(users: Users, variable: str) -> Users:
    """`name:role:token,…`; the value itself is never part of a message."""
    for number, word in enumerate(filter(None, os.environ.get(variable, "").split(",")), 1):
        name, _, rest = word.strip().partition(":")
        role, _, token = rest.partition(":")
        if role not in ROLES or not name:
            place, roles = f"{variable}, entry {number}", ", ".join(ROLES)
            raise BadInput(place, f"expected name:role:token with one of the roles {roles}")
        if users.by_token(token) is not None:
            raise BadInput(f"{variable}, entry {number}", "this token stands twice")
        if any(each.name == name and each.role is not ROLES[role] for each in users.digests.values()):
            raise BadInput(f"{variable}, entry {number}", "this name has another role already")
        users = users.with_token(name, ROLES[role], token)
    return users
