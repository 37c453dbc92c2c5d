"""The judge must be able to say no, and the network must do what it promises."""

from random import Random

import pytest

from regraft.protocol.events import Event, encode
from regraft.protocol.messages import AnyMessage, Bye
from regraft.testing.checker import Checker, Violation
from regraft.testing.network import SILENCE, Clock, End, Network, Trace, Weather

ONE, TWO = encode(Event({"x": 1})), encode(Event({"x": 2}))


@pytest.fixture
def checker() -> Checker:
    """A subscriber whose subscription is in place, and two publications, the first of which it wants."""
    checker = Checker()
    checker.subscribed("s", "s1", "x = 1")
    checker.placed("s", "s1")
    checker.published("p#1", 1, ONE)
    checker.published("p#1", 2, TWO)
    return checker


def test_an_acknowledgement_before_the_delivery_is_a_loss(checker: Checker) -> None:
    with pytest.raises(Violation, match="lost: p#1 1"):
        checker.acknowledged("p#1", 1)


def test_what_no_client_wants_may_be_acknowledged_at_once(checker: Checker) -> None:
    checker.delivered("s", "p#1", 1, ONE)
    checker.acknowledged("p#1", 2)
    assert checker.acknowledged_up_to == {"p#1": 2}


def test_nothing_is_owed_to_a_client_that_withdrew_or_left(checker: Checker) -> None:
    checker.withdrawn("s", "s1")
    checker.acknowledged("p#1", 1)
    checker.subscribed("t", "s1", "TRUE")
    checker.placed("t", "s1")
    checker.published("p#1", 3, ONE)
    checker.left("t")
    checker.acknowledged("p#1", 3)


def test_nothing_is_owed_before_the_subscription_is_in_place(checker: Checker) -> None:
    checker.subscribed("t", "s1", "x = 2")
    checker.published("p#1", 3, TWO)
    checker.delivered("s", "p#1", 1, ONE)
    checker.acknowledged("p#1", 3)


def test_a_second_delivery_is_a_duplicate(checker: Checker) -> None:
    checker.delivered("s", "p#1", 1, ONE)
    with pytest.raises(Violation, match="duplicated"):
        checker.delivered("s", "p#1", 1, ONE)


def test_a_lower_number_after_a_higher_one_is_reordered(checker: Checker) -> None:
    checker.published("p#1", 3, ONE)
    checker.delivered("s", "p#1", 3, ONE)
    with pytest.raises(Violation, match="reordered"):
        checker.delivered("s", "p#1", 1, ONE)


def test_what_was_not_asked_for_or_never_published_is_noticed(checker: Checker) -> None:
    with pytest.raises(Violation, match="unasked"):
        checker.delivered("s", "p#1", 2, TWO)
    with pytest.raises(Violation, match="invented"):
        checker.delivered("s", "p#1", 1, TWO)


class Peer:
    """A node that only remembers."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.said: list[str] = []
        self.over_at = 0.0
        self.clock: Clock

    def heard(self, end: End, messages: list[AnyMessage]) -> None:
        self.said += [message.reason for message in messages if isinstance(message, Bye)]

    def ended(self, end: End) -> None:
        self.over_at = self.clock.now


def joined(weather: Weather) -> tuple[Network, Peer, Peer, End]:
    clock, one, two = Clock(), Peer("one"), Peer("two")
    one.clock = two.clock = clock
    network = Network(clock, Trace(clock), Random(1), weather)
    near, _ = network.connect(one, two)
    return network, one, two, near


def test_frames_arrive_once_and_in_order_however_late_or_doubled() -> None:
    network, _, two, near = joined(Weather(late=0.4, duplicate=0.4))
    for number in range(50):
        network.send(near, [Bye(str(number))])
    network.clock.run(5)
    assert two.said == [str(number) for number in range(50)]
    assert network.trace.faults.keys() == {"delay", "duplicate"}


@pytest.mark.parametrize("weather", [Weather(drop=0.2), Weather(reorder=0.2)])
def test_a_lost_or_overtaken_frame_ends_the_connection_after_what_came_before(weather: Weather) -> None:
    network, one, two, near = joined(weather)
    for number in range(50):
        network.send(near, [Bye(str(number))])
        network.clock.run(network.clock.now + 0.01)
    network.clock.run(5)
    assert two.said == [str(number) for number in range(len(two.said))]
    assert len(two.said) < 50
    assert one.over_at
    assert two.over_at


def test_the_loss_of_the_last_frame_is_noticed_by_the_next_empty_one() -> None:
    network, _, two, near = joined(Weather(drop=1.0))
    network.send(near, [Bye("never comes")])
    network.weather = Weather()
    network.clock.run(5)
    assert not two.said
    assert 0 < two.over_at < SILENCE


def test_a_node_that_vanishes_is_noticed_by_silence_at_the_latest() -> None:
    for seed in range(20):
        network, one, two, _ = joined(Weather())
        network.rng = Random(seed)
        network.vanish(one)
        network.clock.run(5)
        assert two.over_at <= SILENCE + 1
        assert not network.ends
