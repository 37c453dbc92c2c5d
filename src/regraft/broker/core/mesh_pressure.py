"""Back-pressure in a mesh: a broker that holds too much stops the publishers of the topics it holds.

Withholding receipts instead could deadlock a ring of full brokers, each of which waits for the next one's.
So copies are always taken, and the full broker says so through the whole mesh; where publishers are
connected, nothing on these topics is acknowledged until it says otherwise. Each publisher can then add
no more than its window.

A broker that is removed from the overlay takes nothing back. A broker that loses its link to it does that for
it; if the first is still in the overlay, over other links, it hears so and contradicts.
"""

from collections.abc import Iterable

from regraft.broker.core.mesh_roster import LIVES_APART
from regraft.protocol.messages import Pressure

VOID_APART = 2**16
"""Added to another broker's number to void what it said, even what we have not heard yet."""


class Pressures:
    """Who is known to hold too much, and of what."""

    def __init__(self, broker: str, life: int, limit: int) -> None:
        self.broker = broker
        self.limit = limit
        self._number = life * LIVES_APART
        self.told = {broker: Pressure(broker, self._number, [])}
        """The last word of every broker, our own included: it voids what an earlier life of ours said."""
        self.topics: frozenset[str] = frozenset()
        """The topics on which nothing is acknowledged."""

    def weigh(self, held: int, topics: Iterable[str]) -> Pressure | None:
        """What to tell the mesh about ourselves, if anything changed."""
        full = bool(self.told[self.broker].topics)
        if (held > self.limit) == full or (full and held > self.limit // 2):
            return None
        return self._say([] if full else sorted(topics))

    def hear(self, word: Pressure) -> Pressure | None:
        """What is to be passed on, if this is news."""
        known = self.told.get(word.broker)
        if known is not None and known.number >= word.number:
            return None
        if known is not None and word.broker == self.broker:
            self._number = max(self._number, word.number)
            return self._say(known.topics)
        self._note(word)
        return word

    def void(self, broker: str) -> Pressure | None:
        """The broker is no longer our neighbour, and perhaps not in the mesh; returns what to tell the mesh,
        if it had stopped publishers."""
        known = self.told.get(broker)
        if known is None or not known.topics:
            return None
        return self.hear(Pressure(broker, known.number + VOID_APART, []))

    def _say(self, topics: list[str]) -> Pressure:
        self._number += 1
        word = Pressure(self.broker, self._number, topics)
        self._note(word)
        return word

    def _note(self, word: Pressure) -> None:
        self.told[word.broker] = word
        self.topics = frozenset(topic for each in self.told.values() for topic in each.topics)
