"""The broker's clock: time in which the process was stopped does not count against anybody."""

from regraft.broker.io.clock import Clock


def test_a_pause_that_took_too_long_does_not_count() -> None:
    real = [100.0]
    clock = Clock(lambda: real[0])
    start = clock.now()
    real[0] += 5.0
    clock.paused(0.25, 5.0)
    assert clock.now() - start == 0.25
    real[0] += 1.0
    assert clock.now() - start == 1.25


def test_ordinary_pauses_count_in_full() -> None:
    real = [0.0]
    clock = Clock(lambda: real[0])
    for _ in range(10):
        real[0] += 0.3
        clock.paused(0.25, 0.3)
    assert round(clock.now(), 6) == 3.0


def test_it_never_goes_back() -> None:
    real = [0.0]
    clock = Clock(lambda: real[0])
    real[0] = 5.0
    assert clock.now() == 5.0
    clock.paused(0.25, 5.0)
    assert clock.now() == 5.0
