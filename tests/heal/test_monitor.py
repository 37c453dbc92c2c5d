"""The monitor: figures to loads, loads to events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.heal.monitor import WINDOW, Monitor, MonitorResult, Overload, Sample, process_figures
from regraft.heal.rules.vocabulary import EVENTS
from regraft.model import BadInput
from regraft.model.facts import Load


def sample(cpu: float = 0.0, queue: float = 0.0, came: int = 0, left: int = 0, memory: float = 0.1) -> Sample:
    return Sample(cpu, memory, 3, queue, came, left, 2)


def names(measured: MonitorResult) -> list[str]:
    return [event.name for event in measured.events]


def test_rates_are_not_measured_before_the_second_sample() -> None:
    monitor = Monitor("b")
    first = monitor.take(sample(cpu=5.0, came=100), 1.0).load
    assert first == Load(memory=0.1, threads=3.0, queue=0.0, clients=2.0)
    second = monitor.take(sample(cpu=5.5, came=300, left=50), 2.0).load
    assert (second.cpu, second.input_rate, second.output_rate) == (0.5, 200.0, 50.0)


def test_the_greatest_input_and_the_least_output_are_of_the_window() -> None:
    monitor = Monitor("b")
    came = left = 0
    loads = []
    for second in range(30):
        came += 1000 if second == 5 else 10
        left += 5 if second == 8 else 20
        loads.append(monitor.take(sample(came=came, left=left), float(second)).load)
    assert (loads[9].max_input_rate, loads[9].min_output_rate) == (1000.0, 5.0)
    assert (loads[29].max_input_rate, loads[29].min_output_rate) == (10.0, 20.0)


def test_an_overload_that_lasts_is_reported_once_and_again_when_it_comes_again() -> None:
    monitor = Monitor("b", Overload(cpu=0.8, sustained=3.0))
    told, used = [], 0.0
    for second in range(20):
        used += 0.1 if second in (0, 10) else 1.0
        if "brokerOverloaded" in names(monitor.take(sample(cpu=used), float(second))):
            told.append(second)
    assert told == [4, 14]


def test_a_broker_whose_queue_grows_is_about_to_fail() -> None:
    monitor = Monitor("b", Overload(queue=100.0))
    told = []
    for second in range(40):
        queue = 50.0 * second if second < 20 else 0.0
        if "migrateBrokerRequest" in names(monitor.take(sample(queue=queue), float(second))):
            told.append(second)
    assert told == [1 + int(WINDOW / 2)]


def test_a_large_queue_that_does_not_grow_is_no_failure() -> None:
    monitor = Monitor("b", Overload(queue=100.0))
    events = [names(monitor.take(sample(queue=1000.0), float(second))) for second in range(30)]
    assert not any("migrateBrokerRequest" in each for each in events)
    assert sum("brokerOverloaded" in each for each in events) == 1


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e9), st.integers(0, 10**9)), max_size=30))
def test_loads_are_shares_and_events_those_of_the_vocabulary(rows: list[tuple[float, float, int]]) -> None:
    monitor = Monitor("b", Overload(queue=10.0))
    for second, (cpu, queue, count) in enumerate(rows):
        load, events = monitor.take(sample(cpu, queue, count, count), float(second))
        assert load.cpu is None or 0 <= load.cpu <= 1
        assert all(event.broker == "b" and event.name in EVENTS for event in events)
        for event in events:
            assert all(event.arguments[name] == getattr(load, name) for name in event.arguments)


def test_this_process_has_figures() -> None:
    before = process_figures()
    sum(range(2_000_000))
    after = process_figures()
    assert after.cpu_seconds > before.cpu_seconds
    assert after.memory is not None
    assert 0 < after.memory < 1
    assert after.threads >= 1


def test_impossible_limits_are_refused() -> None:
    with pytest.raises(BadInput, match="overload"):
        Overload(cpu=0.0)
