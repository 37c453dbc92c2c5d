"""The journal remembers what was synchronised, forgives a cut last record, and reports damage."""

import asyncio
from pathlib import Path

import pytest

from regraft.broker.io import journal as journal_module
from regraft.broker.io.journal import Damaged, Journal
from regraft.model import BadInput


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "b0.journal"


def written(path: Path, *changes: tuple[str, bytes | None]) -> None:
    journal = Journal(path)
    journal.append(changes)
    asyncio.run(journal.sync())
    journal.close()


def read(path: Path) -> dict[str, bytes]:
    journal = Journal(path)
    journal.close()
    return journal.values


def test_the_last_value_of_each_key_is_remembered(path: Path) -> None:
    written(path, ("a", b"1"), ("b", b"2"), ("a", b"3"), ("b", None))
    assert read(path) == {"a": b"3"}


def test_every_start_is_another_life(path: Path) -> None:
    lives = []
    for _ in range(3):
        journal = Journal(path)
        lives.append(journal.life)
        journal.close()
    assert lives == [1, 2, 3]


def test_a_start_compacts(path: Path) -> None:
    written(path, *[("a", b"x" * 100)] * 50)
    before = path.stat().st_size
    assert read(path) == {"a": b"x" * 100}
    assert path.stat().st_size < before / 10


def test_a_journal_that_has_grown_is_compacted_while_it_runs(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "GROWN", 1000)
    journal = Journal(path)
    for number in range(100):
        journal.append([("a", b"x" * 100), ("n", str(number).encode())])
        asyncio.run(journal.sync())
    assert path.stat().st_size < 2500
    journal.close()
    assert read(path) == {"a": b"x" * 100, "n": b"99"}


@pytest.mark.parametrize("lost", [1, 5, 14])
def test_a_last_record_that_was_cut_short_is_dropped(path: Path, lost: int) -> None:
    written(path, ("a", b"1"), ("b", b"2"))
    path.write_bytes(path.read_bytes()[:-lost])
    assert read(path) == {"a": b"1"}


def test_zeros_that_a_crash_left_at_the_end_are_dropped(path: Path) -> None:
    written(path, ("a", b"1"))
    path.write_bytes(path.read_bytes() + bytes(4096))
    assert read(path) == {"a": b"1"}


def test_damage_in_the_middle_is_reported_with_file_and_offset(path: Path) -> None:
    written(path, ("a", b"1" * 50), ("b", b"2"))
    content = bytearray(path.read_bytes())
    at = content.index(b"1" * 50)
    content[at] ^= 1
    path.write_bytes(content)
    start = at - len(b"\x92\xa1a\xc4\x32") - 12
    with pytest.raises(Damaged, match=rf"b0.journal: offset {start}: .*damaged"):
        Journal(path)


def test_a_damaged_length_is_not_taken_for_the_end(path: Path) -> None:
    written(path, ("a", b"1" * 50), ("b", b"2"))
    content = bytearray(path.read_bytes())
    start = content.index(b"1" * 50) - len(b"\x92\xa1a\xc4\x32") - 12
    content[start] = 0x7F
    path.write_bytes(content)
    with pytest.raises(Damaged, match=f"offset {start}"):
        Journal(path)


def test_two_brokers_can_not_have_one_journal(path: Path) -> None:
    journal = Journal(path)
    with pytest.raises(BadInput, match="another broker is running on this journal"):
        Journal(path)
    journal.close()
    Journal(path).close()


def test_a_journal_on_a_full_disk_can_be_closed(path: Path) -> None:
    journal = Journal(path)
    journal._file.close()
    journal._file = open("/dev/full", "ab")  # noqa: SIM115
    with pytest.raises(OSError, match="No space left"):
        journal.append([("a", b"x")])
    journal.close()
    Journal(path).close()  # the lock is free
