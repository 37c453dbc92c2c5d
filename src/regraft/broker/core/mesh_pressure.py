"""Back-pressure in a mesh: a broker that holds too much stops the publishers of the topics it holds.

Withholding receipts instead could lock a ring of full brokers, each of which waits for the next one's.
So copies are always taken, and the full broker says so through the whole mesh; where publishers are
connected, nothing on these topics is acknowledged until it says otherwise. Each publisher can then add
no more than its window.
"""

from collections.abc import Iterable

from regraft.protocol.messages import Pressure

LIVES_APART = 2**32


class Pressures:
    """Who is known to hold too much, and of what."""

    def __init__(self, broker: str, life: int, limit: int) -> None:
        self.broker = broker
        self.limit = limit
        self._number = life * LIVES_APART
        self.told = {broker: Pressure(broker, self._number, [])}
        """The last word of every broker, our own included: it voids what an earlier life of ours said."""
        self.topics: frozenset[str] = frozenset()
        """All that nobody should publish on."""

    def weigh(self, held: int, topics: Iterable[str]) -> Pressure | None:
        """What to tell the mesh about ourselves, if anything changed."""
        full = bool(self.told[self.broker].topics)
        if (held > self.limit) == full or (full and held > self.limit // 2):
            return None
        self._number += 1
        word = Pressure(self.broker, self._number, [] if full else sorted(topics))
        self.hear(word)
        return word

    def hear(self, word: Pressure) -> bool:
        """Whether this is news, to be passed on."""
        known = self.told.get(word.broker)
        if known is not None and known.number >= word.number:
            return False
        self.told[word.broker] = word
        self.topics = frozenset(topic for each in self.told.values() for topic in each.topics)
        return True
