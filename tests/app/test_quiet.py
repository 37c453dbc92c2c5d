"""Spark is woken only if somebody has published."""

from pathlib import Path

from regraft.app.quiet import MOST, Quiet

HEALTH = '{"kind":"health","broker":"b0","rates":{"publications_in":0.0}}\n'
PUBLICATION = '{"kind":"publication","broker":"b0","seq":1}\n'


def append(folder: Path, text: str, name: str = "b0-1.ndjson.open") -> None:
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write(text)


def test_health_alone_is_quiet_and_a_publication_is_not(tmp_path: Path) -> None:
    quiet = Quiet(tmp_path)
    assert quiet.is_quiet()
    append(tmp_path, HEALTH * 5)
    assert quiet.is_quiet()
    append(tmp_path, PUBLICATION)
    assert not quiet.is_quiet()
    assert not quiet.is_quiet(), "until it has been measured there is something to measure"
    quiet.measured()
    assert quiet.is_quiet()
    append(tmp_path, PUBLICATION)
    assert not quiet.is_quiet()


def test_what_was_looked_at_is_not_looked_at_again(tmp_path: Path) -> None:
    quiet = Quiet(tmp_path)
    append(tmp_path, HEALTH)
    assert quiet.is_quiet()
    (tmp_path / "b0-1.ndjson.open").write_text(PUBLICATION[: len(HEALTH) - 1].ljust(len(HEALTH) - 1) + "\n")
    assert quiet.is_quiet()
    append(tmp_path, HEALTH, "b1-1.ndjson")
    assert quiet.is_quiet()


def test_much_is_not_put_off(tmp_path: Path) -> None:
    quiet = Quiet(tmp_path)
    append(tmp_path, HEALTH)
    quiet._put_off = MOST
    assert not quiet.is_quiet()
    quiet.measured()
    assert quiet.is_quiet()


def test_a_folder_that_is_not_there_is_left_to_the_measurement(tmp_path: Path) -> None:
    assert not Quiet(tmp_path / "none").is_quiet()
