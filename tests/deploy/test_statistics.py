"""A broker's figures: rates do not span a restart."""

from regraft.broker.io.control_messages import BrokerState
from regraft.deploy.statistics import statistics


def state(life: int, publications: int, bytes_in: int = 0) -> BrokerState:
    return BrokerState(
        life, ("127.0.0.1", 1), links={"b": "up"}, held_bytes=7, publications=publications, bytes_in=bytes_in
    )


def test_rates_are_what_has_come_since() -> None:
    figures = statistics(state(1, 150, 4000), state(1, 100, 1000), 2.0)
    assert figures.publications_per_second == 25.0
    assert figures.bytes_in_per_second == 1500.0
    assert (figures.queue_bytes, figures.links) == (7, {"b": "up"})


def test_after_a_restart_and_at_first_there_are_no_rates() -> None:
    assert statistics(state(2, 10), state(1, 100), 1.0).publications_per_second == 0.0
    assert statistics(state(1, 10), None, 1.0).publications_per_second == 0.0
    assert statistics(state(1, 10), state(1, 5), 0.0).publications_per_second == 0.0
