"""Answers to clients leave only while it is certain that no deputy acts as this broker (Mimosa Pudica §3.3).

When a broker does not answer for long, a deputy may take its place, with its id and its journal. If the
broker lives on behind a partition, it knows nothing of what is subscribed and published since: it must not
tell a publisher "acknowledged" nor a subscriber "in place". So such answers leave only within a lease, which
is over before a deputy may begin; later ones wait until it is prolonged, or for ever. Deliveries continue,
because they promise nothing. A broker that was never given a lease needs none.
"""

import math
from collections.abc import Iterable

from regraft.protocol.messages import AnyMessage, Confirm, InPlace

ANSWERS = (Confirm, InPlace)


class AnswerLease:
    """Holds answers back, connection by connection and in order, while the lease is over."""

    def __init__(self) -> None:
        self.until = math.inf
        self._held: dict[int, list[AnyMessage]] = {}

    def admitted(self, connection: int, messages: list[AnyMessage], now: float) -> list[AnyMessage]:
        """Those of the messages to a client that may leave now."""
        if now <= self.until and connection not in self._held:
            return messages
        answers = [each for each in messages if isinstance(each, ANSWERS)]
        if answers:
            self._held.setdefault(connection, []).extend(answers)
        return [each for each in messages if not isinstance(each, ANSWERS)]

    def prolong(self, until: float, now: float) -> dict[int, list[AnyMessage]]:
        """What may leave, by connection."""
        self.until = until
        if now > until:
            return {}
        held, self._held = self._held, {}
        return held

    def keep(self, connections: Iterable[int]) -> None:
        """Forget answers to connections other than these."""
        there = set(connections)
        self._held = {each: held for each, held in self._held.items() if each in there}
