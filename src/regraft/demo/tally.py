"""Counts every published event and every delivery end to end. No clock, no network.

What a subscriber should receive follows from the workload, not from the filters that the brokers route by.
Only the numbers of missing events are remembered, so the tally does not grow with time.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Deliveries, counted end to end. `unacknowledged`: events that not every subscriber has confirmed."""

    published: int = 0
    due: int = 0
    delivered: int = 0
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    unwanted: int = 0
    unacknowledged: int = 0

    @property
    def flawless(self) -> bool:
        wrong = (self.lost, self.duplicated, self.reordered, self.unwanted, self.unacknowledged)
        return not any(wrong)


class Tally:
    """Call `publishes` for every event that is published, and `arrived` for every delivery."""

    def __init__(self, wants: Mapping[str, Sequence[str]]) -> None:
        self._wants = {subscriber: frozenset(topics) for subscriber, topics in wants.items()}
        self._published: defaultdict[str, int] = defaultdict(int)
        self._next: defaultdict[tuple[str, str], int] = defaultdict(int)
        """By subscriber and topic: the number after the highest that has arrived."""
        self._missing: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        """The numbers below that which have not arrived."""
        self._duplicated = self._reordered = self._unwanted = 0

    def publishes(self, topic: str) -> int:
        """Count one more event of the topic; returns its number: 0, 1, …"""
        number = self._published[topic]
        self._published[topic] = number + 1
        return number

    def arrived(self, subscriber: str, topic: str, number: int) -> None:
        key = (subscriber, topic)
        if topic not in self._wants[subscriber] or number >= self._published[topic]:
            self._unwanted += 1
            return
        if number >= self._next[key]:
            self._missing[key].update(range(self._next[key], number))
            self._next[key] = number + 1
        elif number in self._missing[key]:
            self._missing[key].remove(number)
            self._reordered += 1
        else:
            self._duplicated += 1

    def counts(self, unacknowledged: int = 0) -> Counts:
        """The counts so far; events still on their way count as lost."""
        due = sum(self._published[topic] for topics in self._wants.values() for topic in topics)
        delivered = sum(self._next.values()) - sum(map(len, self._missing.values()))
        return Counts(
            published=sum(self._published.values()),
            due=due,
            delivered=delivered,
            lost=due - delivered,
            duplicated=self._duplicated,
            reordered=self._reordered,
            unwanted=self._unwanted,
            unacknowledged=unacknowledged,
        )
