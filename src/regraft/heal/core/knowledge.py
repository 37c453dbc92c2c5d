"""What one node knows of itself and of the overlay, and its effects so far: shared by all parts of the
core."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from regraft.heal.core.effects import Broken, DialBroker, Do, Effect, Forget, Note, Tell
from regraft.heal.core.tasks import Signal, Task, Tasks, Work
from regraft.heal.detection import DetectionTiming
from regraft.heal.election import ElectionSettings
from regraft.heal.limits import RemovalLimits
from regraft.heal.monitor import Overload
from regraft.heal.owner import Owner
from regraft.heal.rules import Checked
from regraft.heal.wire.messages import Message
from regraft.model import Topology


@dataclass(frozen=True)
class HealingSettings:
    """The settings of one node; `life` is that of its own broker."""

    id: str
    life: int
    region: str = ""
    beside: tuple[str, ...] = ()
    """Where it asks to join, if it is not in the overlay; empty: anywhere."""
    timing: DetectionTiming = DetectionTiming()  # noqa: RUF009 — a frozen value
    at_once: bool = False
    """A broker whose process is gone is suspected without waiting for the timer."""
    settle: float = 10.0
    """Seconds after the start in which no broker is suspected that the node has never been connected to."""
    election: ElectionSettings = ElectionSettings()  # noqa: RUF009
    removals: RemovalLimits = RemovalLimits()  # noqa: RUF009
    overload: Overload = Overload()  # noqa: RUF009


@dataclass
class LocalBroker:
    """A broker that runs in this process."""

    owner: Owner
    neighbours: frozenset[str]


@dataclass
class Knowledge:
    """`topology` is the last that was seen. `owners` are those that are known, the latest of each broker."""

    settings: HealingSettings
    random: Random
    here: dict[str, LocalBroker]
    topology: Topology | None = None
    rules: Checked = field(default_factory=Checked)
    owners: dict[str, Owner] = field(default_factory=dict)
    connected: set[str] = field(default_factory=set)
    """Nodes that we are connected to."""
    effects: list[Effect] = field(default_factory=list)
    moved: Callable[[str], None] = lambda id: None
    """Called with each broker that has a later owner than the one that was known."""

    def __post_init__(self) -> None:
        self.tasks = Tasks(
            lambda number, request: self.effects.append(Do(number, request)),
            lambda number: self.effects.append(Forget(number)),
            lambda fault: self.effects.append(Broken(fault)),
        )
        self._questions: dict[int, Signal[Any]] = {}
        self._asked = 0

    # Brokers and their nodes

    @property
    def id(self) -> str:
        return self.settings.id

    @property
    def now(self) -> float:
        return self.tasks.now

    def in_overlay(self, id: str) -> bool:
        return self.topology is not None and id in self.topology.neighbours

    def node_of(self, id: str) -> str:
        """The broker in whose process this one runs: itself, unless it has a deputy."""
        owner = self.owners.get(id)
        return owner.by or id if owner is not None else id

    def learn(self, id: str, owner: Owner) -> None:
        known = self.owners.get(id)
        if known is None or owner.life > known.life:
            self.owners[id] = owner
            self.moved(id)

    # What is done

    def begin(self, work: Work[Any]) -> Task[Any]:
        return self.tasks.begin(work)

    def tell(self, node: str, message: Message) -> None:
        self.effects.append(Tell(node, message))

    def call(self, broker: str) -> None:
        self.effects.append(DialBroker(broker))

    def note(self, text: str, *, warning: bool = False) -> None:
        self.effects.append(Note(f"{self.id}: {text}", warning))

    # Questions to other nodes

    async def ask(self, node: str, question: Callable[[int], Message], seconds: float) -> Any:
        """The answer to a question, which is made from a number; None if there is none in time."""
        self._asked = number = self._asked + 1
        answer: Signal[Any] = Signal()
        self._questions[number] = answer
        self.tell(node, question(number))
        try:
            return await answer.within(seconds)
        finally:
            self._questions.pop(number, None)

    def answered(self, number: int, answer: object) -> None:
        if (waiting := self._questions.get(number)) is not None:
            waiting.give(answer)
