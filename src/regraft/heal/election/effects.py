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
    """At the leader, when a majority has accepted: carry it out.

    When that leader is suspected before it is done, the next one gets the same decision to act on, in a view
    of its own: carrying it out has to bear being done twice.
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
    """We take no further part: no majority could be reached in time, or nobody may lead."""

    election: str
    reason: str


Effect = Send | Choose | Act | Learned | GaveUp
