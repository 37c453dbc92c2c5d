"""What the core asks its shell to find out or to do, and the answers. Each may fail with a `RegraftError`.

Each may be carried out twice, by one node after another: that must do no harm. A `str` as the answer is why
something was not done; empty: it was.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from regraft.heal.core.tasks import Request
from regraft.heal.database.records import Adaptation, BrokerRecord
from regraft.heal.detection import Evidence
from regraft.heal.grant import Denied, Grant, GrantRequest
from regraft.heal.owner import NotTaken, Owner, Seen, Why
from regraft.model import Ends, Plan, Topology
from regraft.model.intents import Clone, Migrate
from regraft.model.traffic import Traffic

# A broker


@dataclass(frozen=True, slots=True)
class Examine(Request[Evidence]):
    """Find out what the address of this owner, and the presence of the broker, show."""

    broker: str
    owner: Owner


@dataclass(frozen=True, slots=True)
class FindOwner(Request[Owner | None]):
    broker: str


@dataclass(frozen=True, slots=True)
class Look(Request[Seen]):
    """Read what the broker has left in ZooKeeper."""

    broker: str


@dataclass(frozen=True, slots=True)
class StandIn(Request[Owner | NotTaken]):
    """Become the deputy of this broker, with what it remembered, if nothing that was seen has changed."""

    broker: str
    neighbours: frozenset[str]
    seen: Seen
    why: Why


@dataclass(frozen=True, slots=True)
class EndDeputy(Request[None]):
    """Stop this deputy; its presence is deleted."""

    broker: str


@dataclass(frozen=True, slots=True)
class RemoveDeadDeployer(Request[None]):
    """Remove the deployer that had this session from the queue of deployers: its process is gone."""

    session: int


@dataclass(frozen=True, slots=True)
class Sync(Request[None]):
    """Let later reads see every write that has been acknowledged so far."""


# Which brokers run


@dataclass(frozen=True, slots=True)
class Start(Request[str]):
    """Have this broker started, if it does not run."""

    broker: str
    beside: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Claim(Request[str]):
    """Count this living broker among those that are removed in the whole overlay, if the limit allows it."""

    broker: str


@dataclass(frozen=True, slots=True)
class Retire(Request[None]):
    """Take the broker out of service: it is not started again."""

    broker: str


@dataclass(frozen=True, slots=True)
class Reinstate(Request[None]):
    """Put the broker back into service."""

    broker: str


# The destination database


@dataclass(frozen=True, slots=True)
class AskGrant(Request[Grant | Denied]):
    request: GrantRequest


@dataclass(frozen=True, slots=True)
class Release(Request[None]):
    """Give the grant back. `adaptation`: its record, in which the shell sets the time."""

    grant: str
    adaptation: Adaptation | None = None


@dataclass(frozen=True, slots=True)
class WriteBroker(Request[None]):
    record: BrokerRecord


@dataclass(frozen=True, slots=True)
class MarkLeft(Request[None]):
    """Record that the broker has left the overlay; its notes stay."""

    record: BrokerRecord


# Plans


@dataclass(frozen=True, slots=True)
class ReadTopology(Request[Topology | None]):
    """The current topology, which the watch may not have shown yet."""


class ExecutionLimits(NamedTuple):
    """Of a run: the seconds that a change may take to get ready, and how often it is attempted."""

    seconds: float
    attempts: int


@dataclass(frozen=True, slots=True)
class Execute(Request[str]):
    """Carry the plan out."""

    plan: Plan
    limits: ExecutionLimits


@dataclass(frozen=True, slots=True)
class FinishOthers(Request[None]):
    """Finish a run whose deployer has died; ask one that gives way to stop."""

    limits: ExecutionLimits


class Demand(NamedTuple):
    traffic: Traffic
    costs: Mapping[Ends, float]


@dataclass(frozen=True, slots=True)
class ReadDemand(Request[Demand | None]):
    """The traffic that was measured or, before that, is in the node's settings."""


# Components


@dataclass(frozen=True, slots=True)
class ReadComponents(Request[dict[str, tuple[str, ...]]]):
    """The components of each broker."""


@dataclass(frozen=True, slots=True)
class MoveComponents(Request[str]):
    """Move or clone components; the answer names those that have not arrived."""

    intent: Migrate | Clone
