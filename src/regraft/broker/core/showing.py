"""Which subscriptions one neighbour is shown: covered ones stay hidden, uncovered ones come back.

Subscriptions are forwarded towards matching advertisements only, and only if none that has been
forwarded covers them (IPITT §III-A; OCBR §2). A hidden one is in place when the one that hides it is.
"""

from regraft.filters import Filter
from regraft.filters.cover_index import CoverIndex


class Showing:
    """The subscriptions wanted by one neighbour, split into shown and hidden ones.

    `added` and `removed` collect what the neighbour has to be told. A subscription that hides others is
    added in the same update that removes them, and one that is shown again in the update that removes what
    hid it. A neighbour applies additions before removals, so it always has a filter that covers every
    wanted one.
    """

    def __init__(self) -> None:
        self.shown: dict[str, Filter] = {}
        self.hidden_by: dict[str, str] = {}
        self.placed: set[str] = set()
        self.added: dict[str, Filter] = {}
        self.removed: set[str] = set()
        self._hides: dict[str, dict[str, Filter]] = {}
        self._index = CoverIndex()
        self._keys: dict[str, int] = {}
        self._ids: dict[int, str] = {}
        self._next = 0

    def __contains__(self, id: str) -> bool:
        return id in self.shown or id in self.hidden_by

    def ids(self) -> list[str]:
        return [*self.shown, *self.hidden_by]

    def want(self, id: str, filter: Filter) -> bool:
        """Show it unless it is covered; returns whether it is in place behind the neighbour already."""
        cover = self._index.covering(filter)
        if cover is not None:
            return self._hide(id, filter, self._ids[cover])
        covered = [self._ids[key] for key in self._index.covered(filter)]
        self._show(id, filter)
        for other in covered:
            self._cover(other, id)
        return False

    def drop(self, id: str) -> list[str]:
        """It is no longer wanted; what it hid is shown or hidden anew. Returns those known to be in place."""
        if (cover := self.hidden_by.pop(id, None)) is not None:
            del self._hides[cover][id]
            return []
        hidden = self._unshow(id)
        for other in hidden:
            del self.hidden_by[other]
        return [other for other, filter in hidden.items() if self.want(other, filter)]

    def confirm(self, id: str) -> list[str]:
        """The neighbour has it in place. Returns it and those that it hides: they are in place, too."""
        if id not in self.shown:
            return []
        self.placed.add(id)
        return [id, *self._hides[id]]

    def doubt(self, id: str) -> bool:
        """Ask the neighbour again whether it has this (or what hides it) in place; False if not shown."""
        shown = self.hidden_by.get(id, id)
        if shown not in self.shown:
            return False
        self.placed.discard(shown)
        self.added[shown] = self.shown[shown]
        return True

    def start_again(self) -> None:
        """A new connection: everything shown has to be told again."""
        self.added = dict(self.shown)
        self.removed = set()

    def _show(self, id: str, filter: Filter) -> None:
        self.shown[id] = filter
        self._hides[id] = {}
        self.added[id] = filter
        self.removed.discard(id)
        self._keys[id] = key = self._next
        self._ids[key] = id
        self._next += 1
        self._index.add(key, filter)

    def _unshow(self, id: str) -> dict[str, Filter]:
        del self.shown[id]
        self.placed.discard(id)
        key = self._keys.pop(id)
        del self._ids[key]
        self._index.remove(key)
        self.added.pop(id, None)
        self.removed.add(id)  # it may have been told before
        return self._hides.pop(id)

    def _hide(self, id: str, filter: Filter, cover: str) -> bool:
        self.hidden_by[id] = cover
        self._hides[cover][id] = filter
        return cover in self.placed

    def _cover(self, id: str, cover: str) -> None:
        """`id`, until now shown, disappears behind `cover`, and so does all that it hid."""
        filter = self.shown[id]
        hidden = self._unshow(id)
        for other, each in {**hidden, id: filter}.items():
            self._hide(other, each, cover)
