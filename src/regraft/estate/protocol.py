"""What the loop needs of a running network, and nothing more.

An estate knows its topology, measures its traffic, and carries plans out. It belongs to one loop at a time:
if the right to change it is lost, `probe` regains it. Faults have three kinds, and the loop treats them
differently: `Away` (the estate does not answer, or the right to change it is lost), `DiskFull`, and every
other `RegraftError`, which concerns only the request. `BadInput` refuses a request; then nothing was changed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from regraft.estate.windows import MeasuredWindow, WindowAndCounts
from regraft.loop.values import Ended
from regraft.model import Plan, RegraftError, Topology
from regraft.model.intents import Intent
from regraft.model.outcome import Outcome

WantedOfRun = Literal["run", "pause", "stop", "roll back"]


class Away(RegraftError):
    """The estate does not answer, or another loop has the right to change it now."""


class AnotherLoop(Away):
    """Another loop has the right to change the estate."""


class DiskFull(RegraftError):
    """Less room is left on the disk than the settings ask for."""


class Known(NamedTuple):
    """The topology and its epoch, which grows with every change."""

    topology: Topology
    epoch: int


@dataclass(frozen=True)
class BrokerFacts:
    """What a broker reports about itself; None where it reports nothing."""

    alive: bool = False
    host: str | None = None
    port: int | None = None
    life: int | None = None
    clients: int | None = None
    sessions: int | None = None
    queue_bytes: int | None = None
    publications_per_second: float | None = None
    bytes_in_per_second: float | None = None
    bytes_out_per_second: float | None = None
    links: Mapping[str, str] = field(default_factory=dict)
    """Neighbour → up or down."""


@dataclass(frozen=True)
class Guarantees:
    """What subscribers see while the network is changed."""

    delivery: Literal["exactly once", "at least once", "at most once"]
    order: Literal["publisher", "none"]
    duplicates: str = "none"
    """What limits the number of duplicates, in words."""


@dataclass(frozen=True)
class ChangeLimits:
    """How many links may be changed at a time, in all and at one broker; None: no limit."""

    at_once: int | None = None
    per_broker: int | None = None


@dataclass(frozen=True)
class RunProgress:
    """How far a run is. `step` is the one that is being carried out, from 1."""

    run: str
    step: int
    steps: int
    actions: int
    actions_done: int
    paused: bool


@dataclass(frozen=True)
class LastRun:
    """The last run that was begun. `back`: it takes an earlier run back."""

    run: str
    plan: str
    state: str
    back: bool


@dataclass(frozen=True)
class HealingRule:
    """A rule of healing, as people write it."""

    name: str
    text: str
    version: int


@dataclass(frozen=True)
class HealingRules:
    """If there are no rules, `note` says why."""

    version: int = 0
    rules: tuple[HealingRule, ...] = ()
    definitions: Mapping[str, float | str | bool] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class HealingRecord:
    """One adaptation of healing: its cause, how long its parts took, and how it ended."""

    id: str
    kind: str
    cause: str
    at: float
    rules: tuple[str, ...]
    leader: str
    intents: tuple[Intent, ...]
    timeout_ms: float
    vote_ms: float
    election_ms: float
    adaptation_ms: float
    outcome: str
    reason: str


TellProgress = Callable[[RunProgress], None]


class Estate(Protocol):
    """All methods are called on one event loop."""

    @property
    def guarantees(self) -> Guarantees: ...
    @property
    def limits(self) -> ChangeLimits: ...
    @property
    def known(self) -> Known | None:
        """The topology that the estate has read last; None before the first reading."""
        ...

    async def refresh(self) -> Known:
        """Read the current topology."""
        ...

    async def probe(self) -> Known:
        """As `refresh`; and regain the right to change the network if it was lost."""
        ...

    async def follow(self, changed: Callable[[Known], None], failed: Callable[[str], None]) -> None:
        """Reports each change of the topology, and each loss of the right to change it, until cancelled."""
        ...

    async def brokers(self) -> Mapping[str, BrokerFacts]:
        """All brokers that can be controlled, including those that wait to join the network."""
        ...

    async def warm(self) -> None:
        """Start what measuring needs, before the first window ends."""
        ...

    async def measure(self, start: float, end: float) -> WindowAndCounts: ...
    async def read_window(self, start: float, end: float) -> MeasuredWindow:
        """A window that was measured before; `BadInput` if it is no longer kept."""
        ...

    def check_disk(self) -> None:
        """`DiskFull` if there is too little room to measure."""
        ...

    async def carry_out(self, plan: Plan, tell: TellProgress) -> Outcome:
        """`BadInput` if the plan does not start from the current topology, or another run is under way."""
        ...

    async def resume(self, plan: Plan | None, back: bool, tell: TellProgress) -> Outcome | Ended:
        """Carry the interrupted run to its end. If it has ended meanwhile, report how it ended.

        `BadInput` if the run never began.
        """
        ...

    async def roll_back(self, tell: TellProgress) -> Outcome:
        """Take back what the last run has changed."""
        ...

    async def ask(self, wanted: WantedOfRun) -> None:
        """Tell the run under way to continue, pause, stop or turn back; `BadInput` if there is none."""
        ...

    async def interrupted(self) -> str | None:
        """sha256 of the plan of a run that has not ended and that no deployer carries out."""
        ...

    async def last_run(self) -> LastRun | None: ...

    async def tell_healing(self, measured: MeasuredWindow, network: Topology | None) -> None:
        """Publish the traffic measured last and the costs of links: repairs choose links by them."""
        ...

    async def rules(self) -> HealingRules: ...
    async def put_rules(
        self, rules: Mapping[str, str], definitions: Mapping[str, float | str | bool]
    ) -> HealingRules:
        """Add these rules, replacing those of the same name; `BadInput` if one is not valid."""
        ...

    async def adaptations(self, limit: int) -> tuple[HealingRecord, ...]:
        """The last adaptations, the newest first; empty if the network does not heal by itself."""
        ...
