"""What the core asks of the world, and what the answers are. Each may fail with a `RegraftError`.

All of them may be asked twice, by one node after another: each has to bear that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from regraft.heal.core.tasks import Request
from regraft.heal.database.records import Adaptation, BrokerRecord
from regraft.heal.detection import Evidence
from regraft.heal.grant import Denied, Grant
from regraft.heal.grant import Request as GrantRequest
from regraft.heal.owner import NotTaken, Owner, Seen, Why
from regraft.model import Ends, Plan, Topology
from regraft.model.intents import Clone, Migrate
from regraft.model.traffic import Traffic

# A broker


@dataclass(frozen=True, slots=True)
class Examine(Request[Evidence]):
    """What the address of this owner, and the presence of the broker, say."""

    broker: str
    owner: Owner


@dataclass(frozen=True, slots=True)
class FindOwner(Request[Owner | None]):
    broker: str


@dataclass(frozen=True, slots=True)
class Look(Request[Seen]):
    """At what the broker has left in ZooKeeper."""

    broker: str


@dataclass(frozen=True, slots=True)
class StandIn(Request[Owner | NotTaken]):
    """Be the deputy of this broker, with what it remembered, if nothing that was seen has changed."""

    broker: str
    neighbours: frozenset[str]
    seen: Seen
    why: Why


@dataclass(frozen=True, slots=True)
class EndDeputy(Request[None]):
    """Be that broker no longer; its presence goes."""

    broker: str


@dataclass(frozen=True, slots=True)
class Bury(Request[None]):
    """Whoever had this session does not deploy any more."""

    session: int


@dataclass(frozen=True, slots=True)
class Sync(Request[None]):
    """What is read from now on is not older than now."""


# Who runs


@dataclass(frozen=True, slots=True)
class Start(Request[str]):
    """Have this broker started, if it does not run; why it does not."""

    broker: str
    beside: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Claim(Request[str]):
    """Count this living broker among those that are removed in the whole overlay; why it must not be."""

    broker: str


@dataclass(frozen=True, slots=True)
class Retire(Request[None]):
    """The broker is out of service: it is not started again."""

    broker: str


@dataclass(frozen=True, slots=True)
class Reinstate(Request[None]):
    broker: str


# The destination database


@dataclass(frozen=True, slots=True)
class AskGrant(Request[Grant | Denied]):
    request: GrantRequest


@dataclass(frozen=True, slots=True)
class Release(Request[None]):
    """The grant is given back. `adaptation`: what became of it; its time is for the shell to say."""

    grant: str
    adaptation: Adaptation | None = None


@dataclass(frozen=True, slots=True)
class PutBroker(Request[None]):
    record: BrokerRecord


@dataclass(frozen=True, slots=True)
class MarkLeft(Request[None]):
    """The broker is out of the overlay; its notes stay."""

    record: BrokerRecord


# Plans


@dataclass(frozen=True, slots=True)
class ReadTopology(Request[Topology | None]):
    """As it is now, which a watch may not have shown yet."""


class Care(NamedTuple):
    """How a plan is carried out: seconds for a change to be ready, and attempts."""

    seconds: float
    attempts: int


@dataclass(frozen=True, slots=True)
class Execute(Request[str]):
    """Carry the plan out, if it is the overlay's turn; why it was not done."""

    plan: Plan
    care: Care


@dataclass(frozen=True, slots=True)
class FinishOthers(Request[None]):
    """A run whose deployer has died is carried on; one that gives way is asked to stop."""

    care: Care


class Demand(NamedTuple):
    traffic: Traffic
    costs: Mapping[Ends, float]


@dataclass(frozen=True, slots=True)
class ReadDemand(Request[Demand | None]):
    """What was measured, or the node was told."""


# Components


@dataclass(frozen=True, slots=True)
class ReadComponents(Request[dict[str, tuple[str, ...]]]):
    """By broker."""


@dataclass(frozen=True, slots=True)
class MoveComponents(Request[str]):
    """Which of them have not arrived, and why."""

    intent: Migrate | Clone
