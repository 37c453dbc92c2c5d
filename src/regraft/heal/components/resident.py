"""One component at one host: its life (`life`) beside its work (`working`), and the one way to change it."""

from dataclasses import dataclass, field

from regraft.heal.components.life import TRANSITIONS, Life, WrongTurn
from regraft.heal.components.messages import Entry, Image
from regraft.heal.components.working import Worker, Working


@dataclass(frozen=True)
class Settings:
    """Seconds."""

    freeze: float = 5.0
    """A worker that is asked to stand does so by then, or is killed: its last point is what goes on."""
    ship: float = 10.0
    """A target that has not taken the component by then does not get it."""
    again: float = 0.2
    """What was not answered is said again."""
    ask: float = 1.0
    """A component that has arrived and was not heard of again is asked for."""


@dataclass
class Moving:
    """A move away from here."""

    tenure: str
    """Of the stay at the target."""
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
    work: Working
    life: Life
    creating: bool = False
    """Nobody has written an entry yet, as far as we know."""
    sender: str = ""
    version: int = -1
    """Of the entry; while ARRIVING, the one that the sender will write over."""
    fence: int | None = None
    """Our claim stands once the entry is past this version: no earlier write can happen any more."""
    fresh: bool = True
    """It came in this life of the host."""
    cancelled: bool = False
    moving: Moving | None = None
    order: object = None
    """Of creating or ending."""
    due: float | None = None
    """When to look into the directory, or to ask, again."""
    history: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.work.image.name

    @property
    def tenure(self) -> str:
        return self.work.image.tenure

    @property
    def loaded(self) -> bool:
        return self.work.worker in (Worker.STANDING, Worker.GOING)

    def turn(self, life: Life) -> None:
        """The only way to another state; a wrong one raises with the history."""
        self.history = [*self.history[-9:], self.life.value]
        if life not in TRANSITIONS[self.life]:
            path = " → ".join(self.history)
            raise WrongTurn(f"{self.name} at {self.tenure}: {path} can not become {life.value}")
        self.life = life

    def entry(self, place: str, tenure: str) -> Entry:
        image = self.work.image
        return Entry(name=image.name, place=place, tenure=tenure, bundle=image.bundle, origin=image.origin)
