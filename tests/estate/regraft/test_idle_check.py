"""Spark is used only if something was published."""

from pathlib import Path

import pytest
from tests.measure.telemetry import Brokers, health, interest, parquet, publication

from regraft.estate.regraft.idle_check import MOST, IdleCheck
from regraft.measure.segments import Offset, new_files, open_source


@pytest.fixture
def brokers(tmp_path: Path) -> Brokers:
    tmp_path.joinpath("telemetry").mkdir()
    return Brokers(tmp_path / "telemetry")


def begun(brokers: Brokers) -> IdleCheck:
    return IdleCheck(brokers.store.place, Offset())


def test_health_alone_is_quiet_and_a_publication_is_not(brokers: Brokers) -> None:
    idle_check = begun(brokers)
    assert idle_check.is_idle()
    brokers.put([health("b0", 1.0), health("b0", 2.0)])
    assert idle_check.is_idle()
    brokers.put([publication("b0", "p", 1, 3.0), health("b1", 3.0)])
    assert not idle_check.is_idle()
    assert not idle_check.is_idle(), "until it has been measured there is something to measure"
    idle_check.measured()
    assert idle_check.is_idle()
    brokers.put([publication("b0", "p", 2, 4.0)])
    assert not idle_check.is_idle()


def test_every_segment_is_looked_at_once(brokers: Brokers) -> None:
    idle_check = begun(brokers)
    (name,) = brokers.put([health("b0", 1.0)])
    assert idle_check.is_idle()
    Path(brokers.store.at(name)).write_text("no longer a table")
    brokers.put([interest("b1", "s", "TRUE", "added", 2.0)])
    assert idle_check.is_idle()


def test_what_was_measured_before_a_restart_is_not_looked_at(brokers: Brokers) -> None:
    brokers.put([publication("b0", "p", 1, 1.0)])
    read = Offset().after(new_files(open_source(brokers.store.place), Offset()))
    idle_check = IdleCheck(brokers.store.place, read)
    assert idle_check.is_idle()
    assert not begun(brokers).is_idle()


def test_what_a_segment_does_not_prove_is_left_to_the_measurement(brokers: Brokers) -> None:
    (name,) = brokers.put([health("b0", 1.0)])
    Path(brokers.store.at(name)).write_text("no table")
    assert not begun(brokers).is_idle()
    Path(brokers.store.at(name)).unlink()
    assert begun(brokers).is_idle()
    parquet(Path(brokers.store.place), "loose", [health("b0", 1.0)])
    assert not begun(brokers).is_idle()


def test_after_many_skipped_bytes_spark_measures(brokers: Brokers) -> None:
    idle_check = begun(brokers)
    brokers.put([health("b0", 1.0)])
    idle_check._skipped = MOST
    assert not idle_check.is_idle()
    idle_check.measured()
    assert idle_check.is_idle()


def test_a_folder_that_is_not_there_is_left_to_the_measurement(tmp_path: Path) -> None:
    assert not IdleCheck(str(tmp_path / "none"), Offset()).is_idle()


def test_segments_in_a_bucket_are_looked_at(bucket: str) -> None:
    brokers = Brokers(f"{bucket}/live")
    idle_check = begun(brokers)
    assert idle_check.is_idle()
    brokers.put([health("b0", 1.0)])
    assert idle_check.is_idle()
    brokers.put([publication("b0", "p", 1, 2.0)])
    assert not idle_check.is_idle()
