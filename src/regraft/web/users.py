"""Who may ask, what each may do, and how each is recognised; the file that says so.

| role | may |
|---|---|
| viewer | read everything but the audit log |
| operator | also approve and reject proposals, pause, resume and take back a plan |
| admin | also change the mode and the rules, and read the audit log |

The file has one user on a line; `#` begins a comment:

    # name    role      how
    alice     admin     sha256:9f86d0…    a token with this digest
    ops-1     operator  certificate       a client certificate with this common name

It holds digests, so that someone who reads it cannot act as a user. Tokens are long random strings: one round
of SHA-256 is enough for them, unlike for a password.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Literal

from regraft.model import BadInput
from regraft.model.files import as_text, read_bytes

PREFIX = "sha256:"
CERTIFICATE = "certificate"
LEAST = 16
"""Characters of a token from the environment; a shorter one could be guessed."""
_NAME = re.compile(r"[A-Za-z0-9._@-]{1,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
How = Literal["token", "certificate", "session", "local"]


class Role(IntEnum):
    """Each may do all that the ones before it may do."""

    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3

    @property
    def label(self) -> str:
        return self.name.lower()


ROLES = {role.label: role for role in Role}


@dataclass(frozen=True)
class Principal:
    """A caller that was recognised, and by what."""

    name: str
    role: Role
    how: How

    def may(self, role: Role) -> bool:
        return self.role >= role


LOCAL = Principal("local", Role.ADMIN, "local")
"""Every caller of a server without users, which listens on the loopback interface only."""


@dataclass(frozen=True)
class Users:
    """Users by the digest of their token, and by the name in their certificate; none: no authentication."""

    digests: dict[str, Principal] = field(default_factory=dict)
    certificates: dict[str, Principal] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.digests) + len(self.certificates)

    def by_token(self, token: str) -> Principal | None:
        """Compares with every digest, so that the time does not tell whether one matches."""
        shown = digest(token)
        found = None
        for known, principal in self.digests.items():
            if hmac.compare_digest(known, shown):
                found = principal
        return found

    def by_certificate(self, common_name: str) -> Principal | None:
        return self.certificates.get(common_name)

    def with_token(self, name: str, role: Role, token: str) -> "Users":
        """The users with one more, for instance from the environment."""
        if len(token) < LEAST:
            raise BadInput("token", f"a token has at least {LEAST} characters, this one has {len(token)}")
        return Users({**self.digests, digest(token): Principal(name, role, "token")}, self.certificates)


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def read_users(path: Path) -> Users:
    try:
        return parse_users(as_text(read_bytes(path)).splitlines())
    except BadInput as fault:
        raise fault if fault.place.startswith(str(path)) else fault.within(str(path)) from None


def parse_users(lines: Iterable[str]) -> Users:
    digests: dict[str, Principal] = {}
    certificates: dict[str, Principal] = {}
    names: set[str] = set()
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        principal, how = _user(words, f"line {number}")
        if principal.name in names:
            raise BadInput(f"line {number}", f"user {principal.name!r} stands twice")
        names.add(principal.name)
        if how == CERTIFICATE:
            certificates[principal.name] = Principal(principal.name, principal.role, "certificate")
        else:
            digests[how.removeprefix(PREFIX)] = principal
    return Users(digests, certificates)


def _user(words: list[str], place: str) -> tuple[Principal, str]:
    if len(words) != 3:
        raise BadInput(place, f"a user is 'name role how', this line has {len(words)} words")
    name, role, how = words
    if not _NAME.fullmatch(name):
        raise BadInput(place, f"a name has 1 to 64 of A-Z a-z 0-9 . _ @ -, not {name!r}")
    if role not in ROLES:
        raise BadInput(place, f"unknown role {role!r}, choose one of {', '.join(ROLES)}")
    if how != CERTIFICATE and not (how.startswith(PREFIX) and _DIGEST.fullmatch(how.removeprefix(PREFIX))):
        raise BadInput(place, "how a user is recognised is 'certificate' or 'sha256:' and 64 hex digits")
    return Principal(name, ROLES[role], "token"), how
