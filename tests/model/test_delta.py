"""Tables in the Delta format, read as they are or were."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.model.measured_tables import add_rows

from regraft.model import BadInput
from regraft.model.delta import open_table, read_rows, read_table, table_files
from regraft.model.store import StoreFault

DAY = 86_400_000_000


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "a: b") if request.param == "folder" else f"{request.getfixturevalue('bucket')}/out"


def test_rows_are_those_of_a_version_of_some_windows_and_columns(place: str) -> None:
    add_rows(place, "t", [{"window": 0, "n": 1}, {"window": DAY, "n": 2}])
    add_rows(place, "t", [{"window": 60_000_000, "n": 3}])
    table = f"{place}/t"
    assert sorted(row["n"] for row in read_rows(table)) == [1, 2, 3]
    assert sorted(row["n"] for row in read_rows(table, version=0)) == [1, 2]
    assert read_rows(table, ["n", "unknown"], [60_000_000]) == [{"n": 3}]
    assert sorted(row["n"] for row in read_rows(table, ["n"], [0, DAY])) == [1, 2]
    assert read_rows(table, ["n"], [5]) == []
    assert read_table(table, ["n"], []).num_rows == 0


def test_only_files_that_may_hold_a_window_are_opened(tmp_path: Path) -> None:
    for start in (0, 1, 2):
        add_rows(tmp_path, "t", [{"window": start * DAY, "n": start}])
    table = open_table(tmp_path / "t")
    assert table is not None
    assert len(table_files(table)) == 3
    (file,) = table_files(table, [DAY])
    assert file.name.startswith("date=1970-01-02/")
    for other in table_files(table, [0, 2 * DAY]):
        (tmp_path / "t" / other.name).unlink()
    assert read_rows(tmp_path / "t", ["n"], [DAY]) == [{"n": 1}]
    with pytest.raises(StoreFault, match="is gone: version 2 of the table is too old"):
        read_rows(tmp_path / "t")


def test_a_column_that_some_files_lack_is_null_there(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path), pa.table({"n": [1]}))
    write_deltalake(str(tmp_path), pa.table({"n": [2], "error": [0.5]}), mode="append", schema_mode="merge")
    rows = sorted(read_rows(tmp_path), key=lambda row: row["n"])
    assert rows == [{"n": 1, "error": None}, {"n": 2, "error": 0.5}]


def test_a_table_that_is_not_there_has_no_rows(place: str) -> None:
    assert open_table(f"{place}/none") is None
    assert read_rows(f"{place}/none") == []
    with pytest.raises(BadInput, match="there is no table"):
        read_table(f"{place}/none")


def test_a_store_that_is_away_is_no_missing_table(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(StoreFault):
        open_table(f"{bucket}/out/t")


def test_a_table_with_vectors_of_deleted_rows_is_refused(tmp_path: Path) -> None:
    """They would have to be read as well: without them, deleted rows are there again."""
    write_deltalake(
        str(tmp_path), pa.table({"n": [1]}), configuration={"delta.enableDeletionVectors": "true"}
    )
    if not set(DeltaTable(str(tmp_path)).protocol().reader_features or ()):
        pytest.skip("this version of the library does not write the feature")
    with pytest.raises(BadInput, match="deletionVectors"):
        read_rows(tmp_path)


def test_a_file_that_is_no_parquet_is_one_line(tmp_path: Path) -> None:
    add_rows(tmp_path, "t", [{"n": 1}])
    (file,) = (tmp_path / "t").rglob("*.parquet")
    file.write_text("no table")
    with pytest.raises(BadInput, match="not Parquet") as caught:
        read_rows(tmp_path / "t")
    assert "\n" not in str(caught.value)
