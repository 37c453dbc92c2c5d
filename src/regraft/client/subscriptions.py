"""All subscriptions of a session: one stream of deliveries comes, and each gets what matches it."""

import logging
from collections.abc import Callable, Iterator, Sequence

from regraft.client.subscription import Subscription
from regraft.protocol.events import NotAnEvent, attributes

log = logging.getLogger("regraft.client")


class Subscriptions:
    """Who gets what, and when everybody is done with it."""

    def __init__(self) -> None:
        self.by_id: dict[str, Subscription] = {}
        self._several = False
        """Whether there has ever been more than one: then events are told apart."""
        self._shared: dict[tuple[str, int], int] = {}
        """Events that several subscriptions have, and how many of them are not done with it."""

        self._warned = False

    def add(self, subscription: Subscription) -> None:
        self._several |= bool(self.by_id)
        self.by_id[subscription.id] = subscription

    def remove(self, id: str) -> bool:
        """Whether it was there. What is still on the way for it is not for the others."""
        self._several = True
        return self.by_id.pop(id, None) is not None

    def deliver(
        self,
        publisher: str,
        seqs: Sequence[int],
        events: Sequence[bytes],
        unwanted: Callable[[str, int], None],
    ) -> None:
        """To those that match; `unwanted` is called with what none does."""
        if not self._several and self.by_id:
            next(iter(self.by_id.values())).put(publisher, seqs, events)
            return
        for seq, event in zip(seqs, events, strict=True):
            takers = self._takers(event)
            if not takers:
                unwanted(publisher, seq)
            elif len(takers) > 1:
                self._shared[publisher, seq] = len(takers)
            for taker in takers:
                taker.put(publisher, [seq], [event])

    def _takers(self, event: bytes) -> list[Subscription]:
        try:
            values = attributes(event)
        except NotAnEvent as fault:
            if not self._warned:
                self._warned = True
                log.warning("what was published is no event, it is skipped: %s", fault)
            return []
        return [each for each in self.by_id.values() if each.filter.matches(values)]

    def consumed(self, publisher: str, seqs: Sequence[int]) -> Iterator[int]:
        """One subscription is done with these; returns those that no other has to consume."""
        shared = self._shared
        for seq in seqs:
            if shared and (left := shared.pop((publisher, seq), 1)) > 1:
                shared[publisher, seq] = left - 1
            else:
                yield seq

    def fail(self, fault: Exception | None) -> None:
        """No more will come."""
        for subscription in self.by_id.values():
            subscription.fail(fault)
