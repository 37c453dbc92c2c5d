"""The file of users: who there is, their roles, and how each is recognised.

One user on a line, `#` begins a comment:

    # name    role      how
    alice     admin     sha256:9f86d0…    a token with this digest
    ops-1     operator  certificate       a client certificate with this common name

The file holds digests, so that who reads it cannot act as anybody. Tokens are long random strings
(`new_token`): one round of SHA-256 is enough for them, unlike for a password.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from regraft.model import BadInput
from regraft.model.files import as_text, read_bytes
from regraft.web.roles import ROLES, Principal, Role

PREFIX = "sha256:"
CERTIFICATE = "certificate"
LEAST = 16
"""Characters of a token that is given through the environment: below, it could be guessed."""
_NAME = re.compile(r"[A-Za-z0-9._@-]{1,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Users:
    """Nobody in it means: no authentication."""

    digests: dict[str, Principal] = field(default_factory=dict)
    certificates: dict[str, Principal] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.digests) + len(self.certificates)

    def by_token(self, token: str) -> Principal | None:
        """Compares with every digest, in the same time whether one fits or none."""
        shown = digest(token)
        found = None
        for known, principal in self.digests.items():
            if hmac.compare_digest(known, shown):
                found = principal
        return found

    def by_certificate(self, common_name: str) -> Principal | None:
        return self.certificates.get(common_name)

    def with_token(self, name: str, role: Role, token: str) -> "Users":
        """One more, e.g. from the environment."""
        if len(token) < LEAST:
            raise BadInput("token", f"a token has at least {LEAST} characters, this one has {len(token)}")
        return Users({**self.digests, digest(token): Principal(name, role, "token")}, self.certificates)


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def new_token() -> str:
    return secrets.token_urlsafe(32)


def user_line(name: str, role: Role, token: str) -> str:
    """What `read_users` reads."""
    return f"{name} {role.label} {PREFIX}{digest(token)}"


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
