"""What a broker and one neighbour have told each other of advertisements and subscriptions."""

from typing import TypeAlias

from regraft.broker.core.showing import Showing
from regraft.filters import Filter

ADVERTISEMENTS, SUBSCRIPTIONS = "advertisements", "subscriptions"
All: TypeAlias = tuple[str, bool]
""""All" of one of these, and whether it leaves something out because a link is being moved."""

WHOLE: frozenset[All] = frozenset({(ADVERTISEMENTS, False), (SUBSCRIPTIONS, False)})
WITHOUT: frozenset[All] = frozenset({(ADVERTISEMENTS, True), (SUBSCRIPTIONS, True)})


def home(id: str) -> str:
    """The broker of the client that has the filter with this id."""
    return id.rsplit("/", 2)[0]


class FilterEntry:
    """A filter in the tables: `origin` is a neighbour or a local client (`@client`)."""

    __slots__ = ("filter", "id", "key", "origin", "owed", "waiting")

    def __init__(self, id: str, filter: Filter, origin: str, key: int = -1) -> None:
        self.id = id
        self.filter = filter
        self.origin = origin
        self.key = key
        self.waiting: set[str] = set()
        """Neighbours that have not reported it in place yet."""
        self.owed = True
        """Whether its origin still has to be told that it is in place."""

    @property
    def home(self) -> str:
        return home(self.id)

    @property
    def client(self) -> str:
        return self.id.rsplit("/", 2)[1]


class Side:
    """What this broker and one neighbour have told each other."""

    def __init__(self) -> None:
        self.advertisements: dict[str, FilterEntry] = {}
        self.subscriptions: dict[str, FilterEntry] = {}
        self.doubtful_advertisements: set[str] = set()
        self.doubtful_subscriptions: set[str] = set()
        self.knows_advertisements = False
        """The neighbour has said "all" at least once in our life."""
        self.knows_subscriptions = False
        self.showing = Showing()
        self.veil = ""
        """A neighbour whose link is being moved to this one, which is told nothing of its filters for now."""
        self.veiled = Showing()
        """The subscriptions behind the veil, as they were when it came down: this neighbour keeps them."""
        self.patient = False
        """What the neighbour does not repeat stays doubtful even when it has told all: it may have forgotten
        it, and another neighbour may be about to tell us."""
        self.unaware = False
        """It may not know yet that a subtree is behind it now; until it says so, its "all" does not count."""
        self.elsewhere: set[str] | None = None
        """While it veils a subtree from us: the homes there, whose filters another neighbour tells us."""
        self.start_again()

    def start_again(self) -> None:
        """A new connection begins: nothing has been told on it."""
        self.said: set[All] = set()
        self.heard: set[All] = set()
        self.heard_unaware: set[All] = set()
        self.added: dict[str, Filter] = {}
        self.removed: set[str] = set()
        self.placed_advertisements: list[str] = []
        self.placed_subscriptions: list[str] = []
        self.showing.start_again()
        self.veiled.start_again()
        self.doubtful_advertisements = set(self.advertisements)
        self.doubtful_subscriptions = set(self.subscriptions)

    @property
    def heard_all(self) -> bool:
        """Whether it has told all its subscriptions on this connection."""
        return (SUBSCRIPTIONS, False) in self.heard

    @property
    def was_told(self) -> bool:
        """Whether it was told everything. That is so as a rule, and this is called after every message."""
        waits = (
            self.added
            or self.removed
            or self.showing.added
            or self.showing.removed
            or self.veiled.added
            or self.placed_advertisements
            or self.placed_subscriptions
        )
        return not waits and self.said.issuperset(WITHOUT if self.veil else WHOLE)

    def says(self, what: str) -> All:
        """The "all" that applies here: with a veil, it leaves out what is behind the veil."""
        return what, bool(self.veil)

    def complete(self, what: str) -> bool:
        """Whether all of this is known, including what another neighbour tells us instead."""
        return (what, False) in self.heard or (self.elsewhere is not None and (what, True) in self.heard)
