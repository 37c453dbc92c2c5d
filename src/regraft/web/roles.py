"""Who asks, and what they may do.

| role | may |
|---|---|
| viewer | read everything but the audit log |
| operator | also approve and reject proposals, pause, resume and take back a plan |
| admin | also change the mode and the rules, and read the audit log |
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

How = Literal["token", "certificate", "session", "local"]


class Role(IntEnum):
    """Each may do what those before it may."""

    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3

    @property
    def label(self) -> str:
        return self.name.lower()


ROLES = {role.label: role for role in Role}


@dataclass(frozen=True)
class Principal:
    """Somebody who was recognised, and by what."""

    name: str
    role: Role
    how: How

    def may(self, role: Role) -> bool:
        return self.role >= role


LOCAL = Principal("local", Role.ADMIN, "local")
"""Everybody who can reach a server that knows no users; it listens on the loopback interface only."""
