import pytest

from regraft.model.quantities import byte_count, seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [("500ms", 0.5), ("60s", 60.0), (" 1.5 m ", 90.0), ("1h", 3600.0), ("7d", 604_800.0), ("0s", 0.0)],
)
def test_a_length_of_time_has_a_number_and_a_unit(text: str, expected: float) -> None:
    assert seconds(text) == expected


def test_a_number_alone_is_a_length_of_time_only_with_a_default_unit() -> None:
    assert seconds("5", default_unit="m") == 300.0
    assert seconds("5s", default_unit="m") == 5.0
    with pytest.raises(ValueError, match="'5' is not a length of time"):
        seconds("5")


@pytest.mark.parametrize("text", ["", "s", "-1s", "1 fortnight", "1e3s", "٣s", "1s 2s", ".5s"])
def test_what_is_not_a_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a length of time"):
        seconds(text, default_unit="s")


@pytest.mark.parametrize(
    ("text", "expected"), [("0", 0), ("12B", 12), ("3k", 3000), ("200MB", 200 * 10**6), ("1 TB", 10**12)]
)
def test_a_size_is_in_powers_of_a_thousand(text: str, expected: int) -> None:
    assert byte_count(text) == expected


@pytest.mark.parametrize("text", ["", "much", "-1", "1.5G", "1KB", "9" * 16])
def test_what_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        byte_count(text)
