"""What the core wants its shell to do."""

from dataclasses import dataclass

from regraft.heal.election.messages import Decision, Message
from regraft.heal.grant import Grant


@dataclass(frozen=True, slots=True)
class Send:
    to: str
    message: Message


@dataclass(frozen=True, slots=True)
class Choose:
    """A majority follows us: find out what is to be done (F of the paper) and call `chosen`."""

    election: str
    view: int
    grant: Grant


@dataclass(frozen=True, slots=True)
class Act:
    """At the leader, when a majority has accepted: carry the decision out.

    If that leader is suspected before it is done, the next one gets the same decision, in a later view:
    carrying it out twice must do no harm.
    """

    election: str
    view: int
    decision: Decision


@dataclass(frozen=True, slots=True)
class Learned:
    """At every member, once: this is decided, and `leader` carries it out."""

    election: str
    view: int
    leader: str
    decision: Decision


@dataclass(frozen=True, slots=True)
class GaveUp:
    """We take no further part: no majority was reached in time, or no member may lead."""

    election: str
    reason: str


Effect = Send | Choose | Act | Learned | GaveUp
