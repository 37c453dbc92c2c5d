"""Pauses between calls grow, are random, and have a limit."""

from regraft.broker.io.dialling import FIRST_PAUSE, LONGEST_PAUSE, pause


def test_pauses_double_up_to_a_limit() -> None:
    longest = [pause(attempt, lambda: 1.0) for attempt in range(20)]
    assert longest[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert longest[-1] == LONGEST_PAUSE


def test_half_of_a_pause_is_random() -> None:
    assert pause(3, lambda: 0.0) == pause(3, lambda: 1.0) / 2
