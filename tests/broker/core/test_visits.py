"""A publisher that goes to another broker sends again, on a new visit, what is not acknowledged. What brokers
still have of its earlier visits must not reach a subscriber before that, also if some of them crash."""

import pytest
from tests.broker.core.overlay import Overlay, advertiser, come, leave, move, publish_one, subscriber

BOTH = [("p#1", 1, 1), ("p#1", 2, 2)]


@pytest.mark.parametrize("seed", range(10))
def test_what_is_left_of_an_earlier_visit_does_not_overtake_what_is_sent_again(seed: int) -> None:
    """k has let the first go, since it came again from j, and has the second for j, which forgets both."""
    overlay = Overlay([("i", "j"), ("j", "k"), ("k", "a"), ("j", "d")], seed)
    far = subscriber(overlay, "far", "i", "TRUE")
    subscriber(overlay, "near", "k", "x = 1")
    publisher = advertiser(overlay, "p", "a")
    overlay.run()
    leave(overlay, far, "i")
    publish_one(overlay, publisher, 1, x=1)
    publish_one(overlay, publisher, 2, x=2)
    overlay.run()
    move(overlay, publisher, "a", "d")
    overlay.run()
    overlay.slow = ("d", "j")
    overlay.restart("i")
    overlay.restart("j")
    come(overlay, far, "i")
    overlay.run()
    assert overlay.delivered["far"] == BOTH
    assert publisher.unacknowledged == 0


@pytest.mark.parametrize("seed", range(10))
def test_a_later_visit_is_known_to_all_that_hold_something_of_an_earlier_one(seed: int) -> None:
    """l does not get what comes again: the confirmation tells it that there is a later visit."""
    overlay = Overlay([("i", "j"), ("j", "k"), ("k", "l"), ("l", "a"), ("j", "d")], seed)
    far = subscriber(overlay, "far", "i", "TRUE")
    near = subscriber(overlay, "near", "k", "x = 1")
    away = subscriber(overlay, "away", "k", "x = 2")
    publisher = advertiser(overlay, "p", "a")
    advertiser(overlay, "other", "a")  # so that k knows, also after a crash, what is wanted at i
    overlay.run()
    leave(overlay, far, "i")
    leave(overlay, away, "k")
    publish_one(overlay, publisher, 1, x=1)
    publish_one(overlay, publisher, 2, x=2)
    overlay.run()
    move(overlay, publisher, "a", "d")
    overlay.run()
    leave(overlay, near, "k")
    overlay.slow = ("d", "j")
    for name in "ijk":
        overlay.restart(name)
    come(overlay, far, "i")
    overlay.run()
    come(overlay, near, "k")
    come(overlay, away, "k")
    overlay.run()
    assert overlay.delivered["far"] == BOTH
    assert overlay.delivered["away"] == BOTH[1:]
    assert publisher.unacknowledged == 0
