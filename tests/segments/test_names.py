"""Names of segments: in order, parsed as they were made, and one folder for each broker."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.model.store import FolderStore
from regraft.segments.listing import folders, last_name, names_after
from regraft.segments.names import SegmentName, folder_of, hour_of, is_hour, parse_name

HOURS = st.integers(0, 4_000_000_000_000_000).map(hour_of)
BROKERS = st.text(min_size=1)
NAMES = st.builds(SegmentName, st.just("b0"), HOURS, st.integers(0, 10**16 - 1), st.integers(0, 10**8 - 1))


@given(NAMES, NAMES)
def test_names_are_read_as_they_were_made_and_sorted_as_what_they_name(
    one: SegmentName, other: SegmentName
) -> None:
    assert parse_name(one.path) == one
    assert (one < other) == (one.path < other.path)
    assert is_hour(one.hour)


@given(BROKERS, BROKERS)
def test_each_broker_has_a_folder_of_its_own_which_is_not_hidden(one: str, other: str) -> None:
    assert (folder_of(one) == folder_of(other)) == (one == other)
    assert not folder_of(one).startswith((".", "_"))
    assert "/" not in folder_of(one)


@pytest.mark.parametrize(
    "path",
    [
        "b0/2026-01-05T12/1767000000000000-00000001.parquet.tmp",
        "b0/2026-01-05T12/.1767000000000000-00000001.parquet.1-2",
        "b0/2026-01-05/1767000000000000-00000001.parquet",
        "2026-01-05T12/1767000000000000-00000001.parquet",
        "b0/2026-01-05T12/b.parquet",
    ],
)
def test_other_files_are_no_segments(path: str) -> None:
    assert parse_name(path) is None


def test_a_listing_has_what_comes_after_a_name_and_looks_at_no_hour_before_it(
    tmp_path: Path,
) -> None:
    looked: list[str] = []

    class Watched(FolderStore):
        def list(self, folder: str = "", after: str = "") -> list:  # type: ignore[type-arg]
            looked.append(folder)
            return super().list(folder, after)

    store = Watched(str(tmp_path))
    all = [SegmentName("b0", f"2026-01-05T{hour}", 17, number) for hour in (10, 11, 12) for number in (1, 2)]
    for name in [*all, SegmentName("b1", "2026-01-05T10", 1, 1)]:
        store.put(name.path, b"?")
    store.put("b0/2026-01-05T11/notes.txt", b"?")
    store.put("b0/other/1.parquet", b"?")
    assert folders(store) == ["b0", "b1"]
    assert list(names_after(store, "b0", None)) == all
    looked.clear()
    assert list(names_after(store, "b0", all[3])) == all[4:]
    assert "b0/2026-01-05T10" not in looked
    assert list(names_after(store, "b0", all[-1])) == []
    assert last_name(store, "b0") == all[-1]
    assert last_name(store, "b7") is None


def test_an_hour_whose_segments_were_removed_still_counts_as_the_last(tmp_path: Path) -> None:
    store = FolderStore(str(tmp_path))
    name = SegmentName("b0", "2026-01-05T10", 17, 1)
    store.put(name.path, b"?")
    store.remove(name.path)
    last = last_name(store, "b0")
    assert last is not None
    assert last < name
    assert last.hour == name.hour
