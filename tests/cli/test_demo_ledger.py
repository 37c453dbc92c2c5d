"""The ledger finds every kind of flaw, and understands interests as the brokers do."""

import pytest

from regraft.cli.demo_ledger import INTERESTS, PUBLISHERS, Counts, Interest, Ledger, reading
from regraft.cli.demo_network import network
from regraft.filters import parse

EVERYTHING = Interest("Roma", "TRUE", lambda at: True)
ALARMS = Interest("Kiev", "kind = 'alarm'", lambda at: at["kind"] == "alarm")


def after(*arrivals: tuple[str, int], published: int = 3) -> Counts:
    """Counts when London published numbers from 1 on, and Roma (everything) and Kiev (none) got these."""
    ledger = Ledger((EVERYTHING, ALARMS))
    for number in range(1, published + 1):
        ledger.publishes("London", number, reading("London", number), at=float(number))
    for subscriber, number in arrivals:
        ledger.arrived(subscriber, "London", number, at=10.0)
    return ledger.counts()


def roma(*numbers: int) -> list[tuple[str, int]]:
    return [("Roma", number) for number in numbers]


def test_everything_once_and_in_order_is_flawless() -> None:
    counts = after(*roma(1, 2, 3))
    assert counts == Counts(published=3, due=3, delivered=3, lost=0, repeated=0, reordered=0, unwanted=0)
    assert counts.flawless


@pytest.mark.parametrize(
    ("arrivals", "flaw"),
    [
        (roma(1, 3), {"delivered": 2, "lost": 1}),
        (roma(), {"delivered": 0, "lost": 3}),
        (roma(1, 2, 2, 3, 1), {"repeated": 2}),
        (roma(2, 1, 3), {"reordered": 1}),
        (roma(3, 1, 2), {"reordered": 2}),
        ([*roma(1, 2, 3), ("Kiev", 2)], {"unwanted": 1}),
    ],
)
def test_each_flaw_is_counted_and_spoils_the_result(
    arrivals: list[tuple[str, int]], flaw: dict[str, int]
) -> None:
    counts = after(*arrivals)
    assert counts == after(*roma(1, 2, 3))._replace(**flaw)
    assert not counts.flawless


def test_the_slowest_delivery_is_sought_among_those_on_their_way_in_the_interval() -> None:
    ledger = Ledger((EVERYTHING,))
    for number, (sent, got) in enumerate([(0.0, 0.5), (0.9, 1.2), (1.5, 1.6), (1.9, 4.0), (5.0, 9.0)]):
        ledger.publishes("London", number, reading("London", number), sent)
        ledger.arrived("Roma", "London", number, got)
    assert ledger.slowest(0.0, 0.8) == pytest.approx(0.5)
    assert ledger.slowest(1.0, 1.8) == pytest.approx(0.3)
    assert ledger.slowest(1.0, 2.0) == pytest.approx(2.1)
    assert ledger.slowest(10.0, 11.0) == 0.0


@pytest.mark.parametrize("interest", INTERESTS, ids=lambda each: each.city)
def test_an_interest_wants_what_its_filter_matches(interest: Interest) -> None:
    filter = parse(interest.filter)
    readings = [reading(city, number) for city in PUBLISHERS for number in range(200)]
    wanted = [each for each in readings if interest.wants(each)]
    assert wanted == [each for each in readings if filter.matches(each)]
    assert wanted


def test_clients_are_at_cities_of_the_network() -> None:
    assert {*PUBLISHERS, *(interest.city for interest in INTERESTS)} <= set(network().ids)
