"""Advertisements and subscriptions: where they come from, which neighbours are told, when they are in place.

Rules (IPITT §III-A, OCBR §2, and what makes them hold across crashes):

- Advertisements are told to every neighbour; subscriptions to the neighbours from which an
  overlapping advertisement came, unless covered (`showing`).
- A filter is *in place* when all neighbours that were told of it have it in place behind them; a
  subscription also needs the advertisements of all sides to be known. An advertisement is reported in place
  only after the subscriptions that overlap it were told, so that a publisher whose advertisement is in place
  reaches every subscriber.
- What a neighbour told before its connection broke stays valid until it has told everything again. `doubtful`
  holds what it has not repeated yet, and the subscriptions that it has withdrawn meanwhile; that is dropped
  when the neighbour says that it was all.
- A broker says "all" to a neighbour once it has heard "all" from every other one (in this life). On a
  tree this begins at the leaves and comes to an end.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from regraft.broker.core.showing import Showing
from regraft.broker.core.sides import ADVERTISEMENTS, SUBSCRIPTIONS, FilterEntry, Side, home
from regraft.filters import Filter, overlaps, parse
from regraft.filters.index import MatchingIndex
from regraft.model import BadInput
from regraft.protocol.messages import Named, Update


class Tables:
    """The routing state of one broker. Changes collect in each `Side` until `update` takes them."""

    def __init__(self, neighbours: Iterable[str]) -> None:
        self.sides: dict[str, Side] = {name: Side() for name in neighbours}
        self.advertisements: dict[str, FilterEntry] = {}
        self.subscriptions: dict[str, FilterEntry] = {}
        self.index = MatchingIndex()
        self.by_key: dict[int, FilterEntry] = {}
        self.version = 0
        """Grows when a subscription comes or goes: routes that were computed before are invalid then."""
        self.placed_here: list[FilterEntry] = []
        """Local clients' filters that are in place now and whose client has not been told."""
        self.has_news = True
        """Whether there may be something to tell neighbours: most messages change nothing here."""
        self._next = 0

    # Advertisements

    def advertise(self, id: str, filter: Filter, origin: str) -> None:
        self.has_news = True
        known = self.advertisements.get(id)
        if known is not None and known.origin == origin and known.filter == filter:
            known.owed = True
            return self._advertised(known)
        if known is not None and known.origin != origin and not {known.origin, origin} <= self.sides.keys():
            raise BadInput(f"advertisement {id!r}", f"belongs to {known.origin}, not to {origin}")
        entry = self.advertisements[id] = FilterEntry(id, filter, origin)
        for name, side in self.sides.items():
            if name != origin:
                side.added[id] = filter
                side.removed.discard(id)
                entry.waiting.add(name)
            elif known is not None and known.origin != origin:
                self._no_longer_told(side, id)
        if origin in self.sides:
            self.sides[origin].advertisements[id] = entry
            for name in self._interested(origin):
                self._overlap_anew(name, filter)
        if known is not None:
            self._ask_instead(known.origin, origin, filter)
            # Not earlier: a subscription without any overlapping advertisement would meanwhile be in place.
            self._retract(known)
        return self._advertised(entry)

    def unadvertise(self, id: str) -> None:
        self.has_news = True
        entry = self.advertisements.pop(id)
        for name, side in self.sides.items():
            if name != entry.origin:
                self._no_longer_told(side, id)
        self._retract(entry)

    def _ask_instead(self, old: str, new: str, filter: Filter) -> None:
        """An advertisement comes from another neighbour now. Subscriptions that the old one has not reported
        in place must be reported by the new one, even if it did so before the advertisement was behind
        it."""
        if old == new or new not in self.sides:
            return
        showing = self.sides[new].showing
        for entry in self.subscriptions.values():
            if old in entry.waiting and overlaps(filter, entry.filter) and showing.doubt(entry.id):
                entry.waiting.add(new)

    def _no_longer_told(self, side: Side, id: str) -> None:
        side.added.pop(id, None)
        side.removed.add(id)  # it may have been told before

    def _retract(self, entry: FilterEntry) -> None:
        """The advertisement no longer comes from the entry's origin, which may need fewer subscriptions."""
        side = self.sides.get(entry.origin)
        if side is None:
            return
        if side.advertisements.get(entry.id) is entry:
            del side.advertisements[entry.id]
        for name in self._interested(entry.origin):
            self._hide_unwanted(name)

    def _interested(self, name: str) -> list[str]:
        """The neighbours that are told of subscriptions that overlap an advertisement of this one: itself,
        and the one to which its link is being moved."""
        return [name, *[other for other, side in self.sides.items() if side.veil == name]]

    def _hide_unwanted(self, name: str) -> None:
        side = self.sides[name]
        for id in side.showing.ids():
            if not self._wanted(side, self.subscriptions[id].filter):
                self._hide(name, id)

    def _advertised(self, entry: FilterEntry) -> None:
        if entry.owed and not entry.waiting:
            entry.owed = False
            if entry.origin in self.sides:
                self.sides[entry.origin].placed_advertisements.append(entry.id)
            else:
                self.placed_here.append(entry)

    def _overlap_anew(self, name: str, filter: Filter) -> None:
        """Tell `name` about the subscriptions that overlap its new advertisement."""
        showing = self.sides[name].showing
        for entry in self.subscriptions.values():
            if entry.origin != name and entry.id not in showing and overlaps(filter, entry.filter):
                self._show(name, entry)

    def _show(self, name: str, entry: FilterEntry) -> None:
        """Tell the neighbour of the subscription, unless it is covered, or veiled for now."""
        side = self.sides[name]
        if entry.origin == side.veil or not side.showing.want(entry.id, entry.filter):
            entry.waiting.add(name)

    # Subscriptions

    def subscribe(self, id: str, filter: Filter, origin: str) -> None:
        self.has_news = True
        known = self.subscriptions.get(id)
        if known is not None and known.origin == origin and known.filter == filter:
            known.owed = True
            return self._subscribed(known)
        if known is not None:
            self._replace(known, origin)
        entry = self.subscriptions[id] = self._indexed(id, filter, origin)
        for name, side in self.sides.items():
            if name != origin and self._wanted(side, filter):
                self._show(name, entry)
        if origin in self.sides:
            self.sides[origin].subscriptions[id] = entry
        return self._subscribed(entry)

    def _indexed(self, id: str, filter: Filter, origin: str) -> FilterEntry:
        entry = FilterEntry(id, filter, origin, self._next)
        self._next += 1
        self.index.add(entry.key, filter)
        self.by_key[entry.key] = entry
        self.version += 1
        return entry

    def _unindexed(self, entry: FilterEntry) -> None:
        self.index.remove(entry.key)
        del self.by_key[entry.key]
        self.version += 1

    def _replace(self, known: FilterEntry, origin: str) -> None:
        """A subscription changes, or comes from another neighbour because a link was moved."""
        if known.origin != origin and (known.origin not in self.sides or origin not in self.sides):
            raise BadInput(f"subscription {known.id!r}", f"belongs to {known.origin}, not to {origin}")
        self.unsubscribe(known.id)

    def unsubscribe(self, id: str) -> None:
        self.has_news = True
        entry = self.subscriptions.pop(id)
        self._unindexed(entry)
        for name, side in self.sides.items():
            if id in side.showing:
                self._hide(name, id)
        if entry.origin in self.sides:
            del self.sides[entry.origin].subscriptions[id]

    def _subscribed(self, entry: FilterEntry) -> None:
        """Report the subscription in place, if it is: advertisements of other sides must be known, too."""
        if entry.owed and not entry.waiting and self._publishers_known(entry.origin):
            entry.owed = False
            if entry.origin in self.sides:
                self.sides[entry.origin].placed_subscriptions.append(entry.id)
            else:
                self.placed_here.append(entry)

    def _publishers_known(self, origin: str) -> bool:
        return all(side.knows_advertisements for name, side in self.sides.items() if name != origin)

    def _wanted(self, side: Side, filter: Filter) -> bool:
        moving = self.sides[side.veil].advertisements.values() if side.veil else ()
        return any(overlaps(each.filter, filter) for each in (*side.advertisements.values(), *moving))

    def _hide(self, name: str, id: str) -> None:
        """`name` no longer needs `id`; subscriptions that it covered may have to be told instead."""
        in_place = self.sides[name].showing.drop(id)
        for each in [*in_place, id]:
            entry = self.subscriptions.get(each)
            if entry is not None and name in entry.waiting:
                entry.waiting.discard(name)
                self._subscribed(entry)

    # What a neighbour says

    def heard(self, name: str, update: Update) -> None:
        """Apply what the neighbour told, additions before removals."""
        self.has_news = True
        side = self.sides[name]
        if side.elsewhere:
            update = _without(update, side.elsewhere)
        for id, text in update.advertisements:
            side.doubtful_advertisements.discard(id)
            self.advertise(id, parse(text), name)
        for id, text in update.subscriptions:
            side.doubtful_subscriptions.discard(id)
            self.subscribe(id, parse(text), name)
        for id in update.gone_subscriptions:
            if side.heard_all:
                self._unsubscribe_from(name, id)
            elif id in side.subscriptions:
                # It may have covered others that a neighbour in a new life has not heard of again.
                side.doubtful_subscriptions.add(id)
        for id in update.gone_advertisements:
            self._unadvertise_from(name, id)
        heard = side.heard_unaware if side.unaware else side.heard
        if update.all_advertisements:
            heard.add((ADVERTISEMENTS, update.but_moving))
        if update.all_subscriptions:
            heard.add((SUBSCRIPTIONS, update.but_moving))
        if side.heard:
            self.learn(name)
        if not side.patient:
            self.believe(name)
        self._placed(name, update)

    def aware(self, name: str) -> None:
        """The neighbour knows everything that is behind it, so what it has called "all" was all."""
        self.has_news = True
        side = self.sides[name]
        side.unaware = False
        side.heard |= side.heard_unaware
        self.learn(name)
        self.believe(name)

    def learn(self, name: str) -> None:
        """Note if everything behind the neighbour is known, for the first time in our life."""
        self.has_news = True
        side = self.sides[name]
        if not side.knows_advertisements and side.complete(ADVERTISEMENTS):
            side.knows_advertisements = True
            for entry in self.subscriptions.values():
                self._subscribed(entry)
        side.knows_subscriptions |= side.complete(SUBSCRIPTIONS)

    def believe(self, name: str) -> None:
        """Drop what the neighbour has not repeated, if it has told all."""
        self.has_news = True
        side = self.sides[name]
        if side.doubtful_advertisements and (ADVERTISEMENTS, False) in side.heard:
            for id in sorted(side.doubtful_advertisements):
                self._unadvertise_from(name, id)
            side.doubtful_advertisements = set()
        if side.doubtful_subscriptions and side.heard_all:
            for id in sorted(side.doubtful_subscriptions):
                self._unsubscribe_from(name, id)
            side.doubtful_subscriptions = set()

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
        """A connection to the neighbour begins: everything is told again."""
        self.has_news = True
        side = self.sides[name]
        side.start_again()
        side.added = {e.id: e.filter for e in self.advertisements.values() if e.origin != name}
        for entry in [*side.advertisements.values(), *side.subscriptions.values()]:
            entry.owed = False  # until it tells it again

    def update(self, name: str) -> Update | None:
        """What this neighbour has to be told now, if anything."""
        side, showing = self.sides[name], self.sides[name].showing
        if side.was_told:
            return None
        others = [each for other, each in self.sides.items() if other not in (name, side.veil)]
        all_advertisements = side.says(ADVERTISEMENTS) not in side.said and all(
            each.knows_advertisements for each in others
        )
        all_subscriptions = (
            side.says(SUBSCRIPTIONS) not in side.said
            and side.knows_advertisements
            and all(each.knows_subscriptions for each in others)
        )
        if side.veiled.added:
            showing.added.update(side.veiled.added)
            side.veiled.added = {}
        withheld = {id: f for id, f in side.added.items() if self.advertisements[id].origin == side.veil}
        added = {id: f for id, f in side.added.items() if id not in withheld}
        news = (added, showing.added, side.removed, showing.removed)
        # Veiled subscriptions have not been told, so that nothing that overlaps them is in place there.
        placed = ([] if side.veil else side.placed_advertisements, side.placed_subscriptions)
        if not (all_advertisements or all_subscriptions or any(news) or any(placed)):
            return None
        if all_advertisements:
            side.said.add(side.says(ADVERTISEMENTS))
        if all_subscriptions:
            side.said.add(side.says(SUBSCRIPTIONS))
        side.added, side.removed = withheld, set()
        showing.added, showing.removed = {}, set()
        side.placed_subscriptions = []
        if not side.veil:
            side.placed_advertisements = []
        return Update(
            _named(news[0]),
            _named(news[1]),
            sorted(news[2]),
            sorted(news[3]),
            all_advertisements,
            all_subscriptions,
            *placed,
            bool(side.veil),
        )

    # Changes of links

    def rename(self, old: str, new: str) -> None:
        """Everything that came from neighbour `old` counts as coming from `new`."""
        self.has_news = True
        side = self.sides[new] = self.sides.pop(old)
        for entry in [*side.advertisements.values(), *side.subscriptions.values()]:
            entry.origin = new
        for entry in [*self.advertisements.values(), *self.subscriptions.values()]:
            if old in entry.waiting:
                entry.waiting.discard(old)
                entry.waiting.add(new)
        self.version += 1

    def add_side(self, name: str) -> None:
        """Add a neighbour. Advertisements that are told again have to be in place there, too."""
        self.has_news = True
        self.sides[name] = Side()
        for entry in self.advertisements.values():
            entry.waiting.add(name)

    def take_over(self, old: str, new: str, homes: set[str]) -> None:
        """Advertisements and subscriptions of clients at these brokers that came from `old` are behind `new`
        now, which has not said so yet."""
        self.has_news = True
        side = self.sides[old]
        for entry in [each for each in side.subscriptions.values() if each.home in homes]:
            self.unsubscribe(entry.id)
            self.subscribe(entry.id, entry.filter, new)
        for entry in [each for each in side.advertisements.values() if each.home in homes]:
            self.advertise(entry.id, entry.filter, new)

    def veil(self, name: str, behind: str) -> None:
        """Tell `name` nothing more about what is behind the neighbour `behind`. It keeps, and is told, what
        is there at present, as if nothing else existed. It is told the rest as if nothing were there, and in
        addition what overlaps the advertisements from there."""
        self.has_news = True
        side = self.sides[name]
        side.veil = behind
        told = set(side.showing.shown)
        for id in side.showing.ids():
            entry = self.subscriptions[id]
            if entry.origin == behind:
                side.veiled.want(id, entry.filter)
                for each in side.showing.drop(id):
                    self.subscriptions[each].waiting.discard(name)
                    self._subscribed(self.subscriptions[each])
                side.showing.removed.discard(id)
        side.veiled.added = {id: f for id, f in side.veiled.shown.items() if id not in told}
        for advertisement in self.sides[behind].advertisements.values():
            self._overlap_anew(name, advertisement.filter)

    def unveil(self, name: str) -> None:
        """Tell `name` again everything, including what is behind the veiled neighbour."""
        self.has_news = True
        side = self.sides[name]
        entries = self.sides[side.veil].subscriptions.values()
        known = {entry.id for entry in entries} | side.veiled.shown.keys()
        side.veil, side.veiled = "", Showing()
        self._hide_unwanted(name)
        for entry in entries:
            entry.waiting.discard(name)
            if self._wanted(side, entry.filter):
                self._show(name, entry)
            self._subscribed(entry)
        side.showing.removed |= known - side.showing.shown.keys()

    def remove_side(self, name: str, successor: str = "") -> None:
        """The broker is no longer a neighbour. What it told, and no other neighbour did, is gone.

        It may be behind another neighbour now, the successor, which then has to report in place what this one
        has not.
        """
        self.has_news = True
        side = self.sides[name]
        if successor:
            taker = self.sides[successor]
            # The taker has heard of these by another way, or they are gone.
            taker.showing.removed |= taker.veiled.shown.keys()
            taker.veil, taker.veiled = "", Showing()
            self._hide_unwanted(successor)
        for id in list(side.subscriptions):
            self.unsubscribe(id)
        for id in list(side.advertisements):
            self.unadvertise(id)
        del self.sides[name]
        for entry in [*self.subscriptions.values()]:
            if name in entry.waiting:
                entry.waiting.discard(name)
                if successor and entry.owed and self.sides[successor].showing.doubt(entry.id):
                    entry.waiting.add(successor)
            self._subscribed(entry)  # all wait for the advertisements of a side that has told nothing yet
        for entry in [*self.advertisements.values()]:
            if name in entry.waiting:
                entry.waiting.discard(name)
                if successor and entry.owed and entry.origin != successor:
                    entry.waiting.add(successor)
                    self.sides[successor].added[entry.id] = entry.filter
                self._advertised(entry)

    @property
    def ready(self) -> bool:
        """Whether every subscription that is in place anywhere is known here."""
        return all(side.knows_subscriptions for side in self.sides.values())


def _without(update: Update, homes: set[str]) -> Update:
    return replace(
        update,
        advertisements=[each for each in update.advertisements if home(each[0]) not in homes],
        subscriptions=[each for each in update.subscriptions if home(each[0]) not in homes],
    )


def _named(filters: dict[str, Filter]) -> list[Named]:
    return [(id, str(filter)) for id, filter in filters.items()]
