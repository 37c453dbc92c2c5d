import pytest

from regraft.loop.maintenance import is_open, slot
from regraft.model import BadInput

MONDAY = 4 * 86_400.0
"""1970-01-05, 00:00 UTC."""
HOUR = 3600.0


def test_without_slots_it_is_always_open() -> None:
    assert is_open((), MONDAY)


def test_a_slot_is_open_from_its_begin_and_closed_at_its_end() -> None:
    slots = (slot("01:00-05:00"),)
    assert not is_open(slots, MONDAY + HOUR - 1)
    assert is_open(slots, MONDAY + HOUR)
    assert is_open(slots, MONDAY + 5 * HOUR - 1)
    assert not is_open(slots, MONDAY + 5 * HOUR)


def test_days_hold_for_the_day_on_which_a_night_begins() -> None:
    slots = (slot("Sun 22:00-04:00"),)
    assert is_open(slots, MONDAY - HOUR)
    assert is_open(slots, MONDAY + 3 * HOUR)
    assert not is_open(slots, MONDAY + 23 * HOUR)


def test_ranges_of_days_may_go_over_the_end_of_the_week() -> None:
    slots = (slot("Sat-Mon 00:00-24:00"),)
    assert [is_open(slots, MONDAY + day * 24 * HOUR) for day in range(7)] == [True] + [False] * 4 + [
        True,
        True,
    ]


def test_a_slot_is_shown_as_it_is_written() -> None:
    assert [str(slot(text)) for text in ("01:00-05:00", "Sat,Sun 00:00-24:00")] == [
        "01:00-05:00",
        "Sat,Sun 00:00-24:00",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1-5",
        "25:00-26:00",
        "24:30-05:00",
        "24:00-05:00",
        "01:00-01:00",
        "Xyz 01:00-02:00",
        "01:70-02:00",
        "00:00-24:01",
        "01:60-02:00",
        "01:00-02:60",
    ],
)
def test_a_text_that_is_not_a_slot_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="UTC"):
        slot(text)
