from pathlib import Path

import pytest

from regraft.lab.records import Records
from regraft.lab.trial import Measurement, Trial
from regraft.model import BadInput

TRIAL = Trial("best-first", 20, 20, "5-balanced-1", 600.0)
FOUND = Measurement("found", 12.5, 3.25, 7, 11, 4, 9, False, 123.5)
FAILED = Measurement("failed", peak_mb=10.0, reason="ValueError: one, two")


def records_in(path: Path, digits: int | None = 6) -> Records[Trial, Measurement]:
    return Records(path, Trial, Measurement, digits)


def test_rows_come_back_from_the_file_as_they_were(tmp_path: Path) -> None:
    records = records_in(tmp_path / "runs.csv")
    records.add(TRIAL, FOUND)
    records.add(TRIAL._replace(size=30, minimise="actions"), FAILED)
    again = records_in(tmp_path / "runs.csv")
    assert dict(again.rows) == {TRIAL: FOUND, TRIAL._replace(size=30, minimise="actions"): FAILED}


def test_floats_are_rounded_unless_all_digits_are_asked_for(tmp_path: Path) -> None:
    exact = FOUND._replace(seconds=1.23456789)
    records_in(tmp_path / "rounded.csv").add(TRIAL, exact)
    assert records_in(tmp_path / "rounded.csv").rows[TRIAL].seconds == 1.23457
    records_in(tmp_path / "exact.csv", None).add(TRIAL, exact)
    assert records_in(tmp_path / "exact.csv").rows[TRIAL] == exact


def test_a_row_is_in_the_file_as_soon_as_it_is_added(tmp_path: Path) -> None:
    records = records_in(tmp_path / "runs.csv")
    records.add(TRIAL, FOUND)
    assert (tmp_path / "runs.csv").read_text().count("\n") == 2


def test_a_last_line_cut_short_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    records_in(path).add(TRIAL, FOUND)
    with path.open("a") as file:
        file.write("best-first,20,20,5-bal")
    again = records_in(path)
    assert list(again.rows) == [TRIAL]
    again.add(TRIAL._replace(size=30), FAILED)
    assert len(records_in(path).rows) == 2


def test_a_reason_of_several_lines_stays_on_one(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    records_in(path).add(TRIAL, Measurement("failed", reason="first\nsecond"))
    assert records_in(path).rows[TRIAL].reason == "first second"


def test_another_file_is_refused_by_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(BadInput, match=r"runs\.csv: line 1: the columns must be"):
        records_in(path)


def test_a_broken_row_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    records = records_in(path)
    records.add(TRIAL, FOUND)
    path.write_text(path.read_text().replace(",20,20,", ",many,20,"))
    with pytest.raises(BadInput, match=r"runs\.csv: line 2"):
        records_in(path)
    path.write_text(",".join(records.columns) + "\n" + "x\n")
    with pytest.raises(BadInput, match=r"runs\.csv: line 2"):
        records_in(path)
