"""Spark is used only if something was published."""

from pathlib import Path

from regraft.estate.regraft.idle_check import MOST, IdleCheck

HEALTH = '{"kind":"health","broker":"b0","rates":{"publications_in":0.0}}\n'
PUBLICATION = '{"kind":"publication","broker":"b0","seq":1}\n'


def append(folder: Path, text: str, name: str = "b0-1.ndjson.open") -> None:
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write(text)


def test_health_alone_is_quiet_and_a_publication_is_not(tmp_path: Path) -> None:
    idle_check = IdleCheck(tmp_path)
    assert idle_check.is_idle()
    append(tmp_path, HEALTH * 5)
    assert idle_check.is_idle()
    append(tmp_path, PUBLICATION)
    assert not idle_check.is_idle()
    assert not idle_check.is_idle(), "until it has been measured there is something to measure"
    idle_check.measured()
    assert idle_check.is_idle()
    append(tmp_path, PUBLICATION)
    assert not idle_check.is_idle()


def test_every_byte_is_looked_at_once(tmp_path: Path) -> None:
    idle_check = IdleCheck(tmp_path)
    append(tmp_path, HEALTH)
    assert idle_check.is_idle()
    (tmp_path / "b0-1.ndjson.open").write_text(PUBLICATION[: len(HEALTH) - 1].ljust(len(HEALTH) - 1) + "\n")
    assert idle_check.is_idle()
    append(tmp_path, HEALTH, "b1-1.ndjson")
    assert idle_check.is_idle()


def test_after_many_skipped_bytes_spark_measures(tmp_path: Path) -> None:
    idle_check = IdleCheck(tmp_path)
    append(tmp_path, HEALTH)
    idle_check._skipped = MOST
    assert not idle_check.is_idle()
    idle_check.measured()
    assert idle_check.is_idle()


def test_a_folder_that_is_not_there_is_left_to_the_measurement(tmp_path: Path) -> None:
    assert not IdleCheck(tmp_path / "none").is_idle()
