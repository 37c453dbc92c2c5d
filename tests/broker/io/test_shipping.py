"""Threads that ship: each outbox in its order, none held up by another, and none after the last has gone."""

import threading
import time

from regraft.broker.io.shipping import THREADS, Shipping
from regraft.model.store import StoreFault


class Box:
    """An outbox that counts what it ships."""

    def __init__(self, segments: int) -> None:
        self.left, self.shipped, self.tries = segments, 0, 0
        self.away = False
        self.busy = False

    def __len__(self) -> int:
        return self.left

    def ship_next(self) -> bool:
        assert not self.busy, "one thread at a time"
        self.busy = True
        try:
            self.tries += 1
            time.sleep(0.002)
            if self.away:
                raise StoreFault("away")
            if not self.left:
                return False
            self.left -= 1
            self.shipped += 1
            return True
        finally:
            self.busy = False


def threads() -> int:
    return sum(thread.name == "shipping" for thread in threading.enumerate())


def test_all_outboxes_are_emptied_by_few_threads_which_end_with_the_last() -> None:
    before = threads()
    shipping, boxes = Shipping(), [Box(20) for _ in range(3 * THREADS)]
    for box in boxes:
        shipping.add(box)
    assert threads() - before == THREADS
    for box in boxes:
        shipping.remove(box, 20.0)
        assert (box.left, box.shipped) == (0, 20)
    while threads() > before:
        time.sleep(0.01)


def test_an_outbox_whose_store_is_away_waits_longer_each_time_and_holds_up_no_other() -> None:
    shipping, away, other = Shipping(), Box(1), Box(100)
    away.away = True
    shipping.add(away)
    shipping.add(other)
    while other.left:
        time.sleep(0.01)
    time.sleep(1.0)
    assert 2 <= away.tries <= 4
    shipping.remove(away, 20.0)  # once more, not for 20 seconds
    assert away.left == 1
    away.away = False
    shipping.remove(other, 20.0)


def test_removing_what_was_not_added_does_not_wait() -> None:
    Shipping().remove(Box(1), 20.0)
