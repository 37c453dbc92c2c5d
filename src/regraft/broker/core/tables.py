"""Advertisements and subscriptions: who they come from, who is told, when they are in place.

Rules (IPITT §III-A, OCBR §2, and what makes them hold across crashes):

- Advertisements are told to every neighbour; subscriptions to the neighbours from which an
  overlapping advertisement came, unless covered (`showing`).
- A filter is *in place* when all neighbours that were told of it have it in place behind them; a
  subscription not before the advertisements of all sides are known. An
  advertisement is reported in place only after the subscriptions that overlap it were told, so that a
  publisher whose advertisement is in place reaches everybody.
- What a neighbour told before its connection broke stays valid until it has told everything again:
  `doubtful` holds what it has not repeated yet, and goes when the neighbour says that it was all.
- A broker says "all" to a neighbour once it has heard "all" from every other one (in this life). On a
  tree that begins at the leaves and ends.
"""

from collections.abc import Iterable

from regraft.broker.core.showing import Showing
from regraft.filters import Filter, overlaps, parse
from regraft.filters.index import MatchingIndex
from regraft.model import BadInput
from regraft.protocol.messages import Named, Update


class Entry:
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


class Side:
    """What this broker and one neighbour have told each other."""

    def __init__(self) -> None:
        self.advertisements: dict[str, Entry] = {}
        self.subscriptions: dict[str, Entry] = {}
        self.doubtful_advertisements: set[str] = set()
        self.doubtful_subscriptions: set[str] = set()
        self.knows_advertisements = False
        """It has said "all" at least once in our life."""
        self.knows_subscriptions = False
        self.showing = Showing()
        self.shadows: list[Entry] = []
        """Subscriptions that came from it and come from another neighbour now."""
        self.silent = False
        """It is told nothing for now: a link is being moved."""
        self.start_again()

    def start_again(self) -> None:
        """A new connection begins: nothing has been told on it."""
        self.said_advertisements = False
        self.said_subscriptions = False
        self.heard_all = False
        """It has told all its subscriptions on this connection."""
        self.added: dict[str, Filter] = {}
        self.removed: set[str] = set()
        self.placed_advertisements: list[str] = []
        self.placed_subscriptions: list[str] = []
        self.showing.start_again()
        self.doubtful_advertisements = set(self.advertisements)
        self.doubtful_subscriptions = set(self.subscriptions)


class Tables:
    """The routing state of one broker. Changes collect in each `Side` until `updates` takes them."""

    def __init__(self, neighbours: Iterable[str]) -> None:
        self.sides: dict[str, Side] = {name: Side() for name in neighbours}
        self.advertisements: dict[str, Entry] = {}
        self.subscriptions: dict[str, Entry] = {}
        self.index = MatchingIndex()
        self.by_key: dict[int, Entry] = {}
        self.version = 0
        """Grows when a subscription comes or goes: routes computed before are then void."""
        self.placed_here: list[Entry] = []
        """Local clients' filters that are in place now and whose client has not been told."""
        self._next = 0

    # Advertisements

    def advertise(self, id: str, filter: Filter, origin: str) -> None:
        known = self.advertisements.get(id)
        if known is not None and known.origin == origin and known.filter == filter:
            known.owed = True
            return self._advertised(known)
        if known is not None:
            if known.origin != origin and (known.origin not in self.sides or origin not in self.sides):
                raise BadInput(f"advertisement {id!r}", f"belongs to {known.origin}, not to {origin}")
            self.unadvertise(id)
        entry = self.advertisements[id] = Entry(id, filter, origin)
        for name, side in self.sides.items():
            if name != origin:
                side.added[id] = filter
                side.removed.discard(id)
                entry.waiting.add(name)
        if origin in self.sides:
            self.sides[origin].advertisements[id] = entry
            self._overlap_anew(origin, filter)
        return self._advertised(entry)

    def unadvertise(self, id: str) -> None:
        entry = self.advertisements.pop(id)
        for name, side in self.sides.items():
            if name != entry.origin and side.added.pop(id, None) is None:
                side.removed.add(id)
        side_of = self.sides.get(entry.origin)
        if side_of is None:
            return
        del side_of.advertisements[id]
        for each in side_of.showing.ids():
            if not self._wanted(side_of, self.subscriptions[each].filter):
                self._hide(entry.origin, each)

    def _advertised(self, entry: Entry) -> None:
        if entry.owed and not entry.waiting:
            entry.owed = False
            if entry.origin in self.sides:
                self.sides[entry.origin].placed_advertisements.append(entry.id)
            else:
                self.placed_here.append(entry)

    def _overlap_anew(self, name: str, filter: Filter) -> None:
        """Tell `name` about the subscriptions that its new advertisement made interesting."""
        showing = self.sides[name].showing
        for entry in self.subscriptions.values():
            wanted = entry.origin != name and entry.id not in showing and overlaps(filter, entry.filter)
            if wanted and not showing.want(entry.id, entry.filter):
                entry.waiting.add(name)

    # Subscriptions

    def subscribe(self, id: str, filter: Filter, origin: str) -> None:
        known = self.subscriptions.get(id)
        if known is not None and known.origin == origin and known.filter == filter:
            known.owed = True
            return self._subscribed(known)
        if known is not None:
            self._replace(known, origin)
        entry = self.subscriptions[id] = self._indexed(id, filter, origin)
        for name, side in self.sides.items():
            if name != origin and self._wanted(side, filter) and not side.showing.want(id, filter):
                entry.waiting.add(name)
        if origin in self.sides:
            self.sides[origin].subscriptions[id] = entry
        return self._subscribed(entry)

    def _indexed(self, id: str, filter: Filter, origin: str) -> Entry:
        entry = Entry(id, filter, origin, self._next)
        self._next += 1
        self.index.add(entry.key, filter)
        self.by_key[entry.key] = entry
        self.version += 1
        return entry

    def _unindexed(self, entry: Entry) -> None:
        self.index.remove(entry.key)
        del self.by_key[entry.key]
        self.version += 1

    def _replace(self, known: Entry, origin: str) -> None:
        """A subscription changes, or (while a link is being moved) comes from another neighbour now.

        It may have hidden others of the neighbour that it came from: until that one has told them,
        publications go there as before.
        """
        if known.origin != origin:
            if known.origin not in self.sides or origin not in self.sides:
                raise BadInput(f"subscription {known.id!r}", f"belongs to {known.origin}, not to {origin}")
            shadow = self._indexed(known.id, known.filter, known.origin)
            self.sides[known.origin].shadows.append(shadow)
        self.unsubscribe(known.id)

    def drop_shadows(self, name: str) -> None:
        """The neighbour has told what was hidden by subscriptions that come from elsewhere now."""
        for shadow in self.sides[name].shadows:
            self._unindexed(shadow)
        self.sides[name].shadows = []

    def unsubscribe(self, id: str) -> None:
        entry = self.subscriptions.pop(id)
        self._unindexed(entry)
        for name, side in self.sides.items():
            if id in side.showing:
                self._hide(name, id)
        if entry.origin in self.sides:
            del self.sides[entry.origin].subscriptions[id]

    def _subscribed(self, entry: Entry) -> None:
        """Report it in place, if it is: also those who may publish for it must all be known."""
        if entry.owed and not entry.waiting and self._publishers_known(entry.origin):
            entry.owed = False
            if entry.origin in self.sides:
                self.sides[entry.origin].placed_subscriptions.append(entry.id)
            else:
                self.placed_here.append(entry)

    def _publishers_known(self, origin: str) -> bool:
        return all(side.knows_advertisements for name, side in self.sides.items() if name != origin)

    def _wanted(self, side: Side, filter: Filter) -> bool:
        return any(overlaps(each.filter, filter) for each in side.advertisements.values())

    def _hide(self, name: str, id: str) -> None:
        """`name` need not have `id` any more; what it hid may come into sight."""
        in_place = self.sides[name].showing.drop(id)
        for each in [*in_place, id]:
            entry = self.subscriptions.get(each)
            if entry is not None and name in entry.waiting:
                entry.waiting.discard(name)
                self._subscribed(entry)

    # What a neighbour says

    def heard(self, name: str, update: Update) -> None:
        """Apply what the neighbour told, additions before removals."""
        side = self.sides[name]
        for id, text in update.advertisements:
            side.doubtful_advertisements.discard(id)
            self.advertise(id, parse(text), name)
        for id, text in update.subscriptions:
            side.doubtful_subscriptions.discard(id)
            self.subscribe(id, parse(text), name)
        for id in update.gone_subscriptions:
            self._unsubscribe_from(name, id)
        for id in update.gone_advertisements:
            self._unadvertise_from(name, id)
        if update.all_advertisements:
            if not side.knows_advertisements:
                side.knows_advertisements = True
                for entry in self.subscriptions.values():
                    self._subscribed(entry)
            for id in sorted(side.doubtful_advertisements):
                self._unadvertise_from(name, id)
            side.doubtful_advertisements = set()
        if update.all_subscriptions:
            side.knows_subscriptions = side.heard_all = True
            for id in sorted(side.doubtful_subscriptions):
                self._unsubscribe_from(name, id)
            side.doubtful_subscriptions = set()
        self._placed(name, update)

    def _unsubscribe_from(self, name: str, id: str) -> None:
        if id in self.sides[name].subscriptions:
            self.unsubscribe(id)

    def _unadvertise_from(self, name: str, id: str) -> None:
        if id in self.sides[name].advertisements:
            self.unadvertise(id)

    def _placed(self, name: str, update: Update) -> None:
        for id in update.placed_subscriptions:
            for each in self.sides[name].showing.confirm(id):
                entry = self.subscriptions[each]
                entry.waiting.discard(name)
                self._subscribed(entry)
        for id in update.placed_advertisements:
            if (known := self.advertisements.get(id)) is not None:
                known.waiting.discard(name)
                self._advertised(known)

    # What neighbours are told

    def connected(self, name: str) -> None:
        """A connection to the neighbour begins: everything is told anew."""
        side = self.sides[name]
        side.start_again()
        side.added = {e.id: e.filter for e in self.advertisements.values() if e.origin != name}
        for entry in [*side.advertisements.values(), *side.subscriptions.values()]:
            entry.owed = False  # until it tells it again

    def update(self, name: str) -> Update | None:
        """What there is to tell this neighbour now."""
        side, showing = self.sides[name], self.sides[name].showing
        if side.silent:
            return None
        others = [each for other, each in self.sides.items() if other != name]
        all_advertisements = not side.said_advertisements and all(s.knows_advertisements for s in others)
        all_subscriptions = (
            not side.said_subscriptions
            and side.knows_advertisements
            and all(each.knows_subscriptions for each in others)
        )
        news = (side.added, showing.added, side.removed, showing.removed)
        placed = (side.placed_advertisements, side.placed_subscriptions)
        if not (all_advertisements or all_subscriptions or any(news) or any(placed)):
            return None
        side.said_advertisements |= all_advertisements
        side.said_subscriptions |= all_subscriptions
        side.added, side.removed = {}, set()
        showing.added, showing.removed = {}, set()
        side.placed_advertisements, side.placed_subscriptions = [], []
        advertisements, subscriptions = _named(news[0]), _named(news[1])
        return Update(
            advertisements,
            subscriptions,
            sorted(news[2]),
            sorted(news[3]),
            all_advertisements,
            all_subscriptions,
            *placed,
        )

    # Changes of links

    def rename(self, old: str, new: str) -> None:
        """Everything that came from one neighbour counts as another's."""
        side = self.sides[new] = self.sides.pop(old)
        for entry in [*side.advertisements.values(), *side.subscriptions.values(), *side.shadows]:
            entry.origin = new
        for entry in [*self.advertisements.values(), *self.subscriptions.values()]:
            if old in entry.waiting:
                entry.waiting.discard(old)
                entry.waiting.add(new)
        self.version += 1

    def add_side(self, name: str) -> None:
        self.sides[name] = Side()

    def remove_side(self, name: str) -> None:
        """The neighbour is none any more, and what it told and nobody else did is gone."""
        self.drop_shadows(name)
        side = self.sides[name]
        for id in list(side.subscriptions):
            self.unsubscribe(id)
        for id in list(side.advertisements):
            self.unadvertise(id)
        del self.sides[name]
        for entry in [*self.subscriptions.values()]:
            if name in entry.waiting:
                entry.waiting.discard(name)
                self._subscribed(entry)
        for entry in [*self.advertisements.values()]:
            if name in entry.waiting:
                entry.waiting.discard(name)
                self._advertised(entry)

    @property
    def ready(self) -> bool:
        """Whether every subscription that is in place anywhere is known here."""
        return all(side.knows_subscriptions for side in self.sides.values())


def _named(filters: dict[str, Filter]) -> list[Named]:
    return [(id, str(filter)) for id, filter in filters.items()]
