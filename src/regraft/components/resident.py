"""One component at one host: its life (`life`), its work (`work`), and what the host knows of its move."""

from dataclasses import dataclass

from regraft.components.life import TRANSITIONS, Life
from regraft.components.messages import Entry, Image
from regraft.components.work import Work, WorkerState
from regraft.model.transitions import Machine


@dataclass(frozen=True)
class HostTimings:
    """How long a host waits, in seconds."""

    freeze: float = 5.0
    """A worker that does not pause within this time is killed; its last point is what moves."""
    ship: float = 10.0
    """A target that has not taken the component within this time does not get it."""
    again: float = 0.2
    """A message that was not answered is repeated after this time."""
    ask: float = 1.0
    """A target asks the source about a move that it has heard nothing of for this time."""


@dataclass
class Moving:
    """A move to another host."""

    tenure: str
    """Names the stay at the target."""
    to: str
    order: object
    begun: float
    until: float
    again: float = 0.0


@dataclass
class Copying:
    """A clone on its way to another host."""

    image: Image
    to: str
    order: object
    until: float
    again: float


@dataclass
class Resident:
    work: Work
    machine: Machine[Life]
    sender: str = ""
    version: int = -1
    """The version of the entry; while ARRIVING, the one that the sender will write over."""
    fence: int | None = None
    """Our claim holds once the entry is past this version: no earlier write can happen any more."""
    fresh: bool = True
    """It came since the host has started."""
    cancelled: bool = False
    moving: Moving | None = None
    order: object = None
    """The order to create or to end it."""
    due: float | None = None
    """When to look into the directory, or to ask the sender, again."""

    @classmethod
    def enter(cls, work: Work, life: Life) -> "Resident":
        return cls(work, Machine(TRANSITIONS, life, f"{work.image.name} at {work.tenure}"))

    @property
    def life(self) -> Life:
        return self.machine.state

    @property
    def name(self) -> str:
        return self.work.image.name

    @property
    def tenure(self) -> str:
        return self.work.image.tenure

    @property
    def loaded(self) -> bool:
        return self.work.worker in (WorkerState.PAUSED, WorkerState.ACTIVE)

    def entry(self, place: str, tenure: str) -> Entry:
        image = self.work.image
        return Entry(name=image.name, place=place, tenure=tenure, bundle=image.bundle, origin=image.origin)
