"""The destination database's answer to a request: which group decides (Mimosa Pudica §3.2, §3.3).

The paper's messages [LE, o, B_i, B_j, nd] and [GI, B_k … B_p] as values. A `Grant` permits one election of
its group; no other grant that shares a broker with it is given meanwhile.
"""

import msgspec

from regraft.model import BadInput

KINDS = ("delete", "add", "migrate", "transfer", "shift")
"""o, the type of the adaptation request."""


class Member(msgspec.Struct, frozen=True):
    """One broker of the group. `life` counts its starts: a broker that lost its memory is another voter."""

    id: str
    life: int = 0
    host: str = ""
    port: int = 0


class GrantRequest(msgspec.Struct, frozen=True, kw_only=True):
    """[LE, o, B_i, B_j, nd]: `asker` is B_i, `target` is B_j; nd is the path of a message, source to
    destination.

    `suspects`: other brokers that the asker knows to be dead. No command sets `source` and `destination` yet;
    without them the target's neighbours decide.
    """

    kind: str
    asker: str
    target: str
    source: str = ""
    destination: str = ""
    suspects: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadInput("kind", f"must be one of {', '.join(KINDS)}, not {self.kind!r}")


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """[GI, B_k … B_p]. Members are ordered by their distance from the publisher, the closest first.

    `epoch` is that of the topology from which the group was chosen; `suspects` are the members that must not
    lead: the one to be deleted, and those that the asker knows to be dead.
    """

    id: str
    kind: str
    asker: str
    target: str
    members: tuple[Member, ...]
    suspects: tuple[str, ...] = ()
    source: str = ""
    destination: str = ""
    epoch: int = 0

    def member(self, id: str) -> Member | None:
        return next((each for each in self.members if each.id == id), None)

    @property
    def candidates(self) -> tuple[str, ...]:
        """The members that may lead, the closest to the publisher first."""
        return tuple(each.id for each in self.members if each.id not in self.suspects)

    @property
    def majority(self) -> int:
        """Of all members, including the dead: the paper's f + 1 for odd n, one more for even n (decision
        15)."""
        return len(self.members) // 2 + 1


class Denied(msgspec.Struct, frozen=True):
    """Why the database gives no grant."""

    reason: str
