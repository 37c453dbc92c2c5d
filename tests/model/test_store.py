"""A folder and a bucket behave alike; addresses are never taken for paths."""

from pathlib import Path

import pytest

from regraft.model import BadInput
from regraft.model.store import Entry, StoreFault, is_address, located, open_store, table_options, table_uri


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "a: b" / "store")
    return f"{request.getfixturevalue('bucket')}/some/prefix"


def test_what_is_put_can_be_listed_read_and_removed(place: str) -> None:
    store = open_store(place)
    assert store.list() == []
    store.put("b0/one", b"12")
    store.put("b0/two", b"123")
    store.put("b0/two", b"1234")
    store.put("b1/deep/three", b"1")
    store.put("_hidden", b"1")
    assert store.list() == [Entry("b0", 0, True), Entry("b1", 0, True)]
    assert store.list("b0") == [Entry("one", 2, False), Entry("two", 4, False)]
    assert store.list("none") == []
    with store.open("b0/two") as content:
        assert content.read() == b"1234"
    store.remove("b0/two")
    store.remove("b0/two")
    assert [each.name for each in store.list("b0")] == ["one"]
    with pytest.raises(FileNotFoundError):
        store.open("b0/two")
    assert store.at("b0/one") == f"{place}/b0/one"
    assert store.at("") == place


def test_a_bucket_that_is_not_there_refuses_what_is_put(bucket: str) -> None:
    with pytest.raises(StoreFault):
        open_store(f"{bucket}-none").put("b0/one", b"1")


def test_a_store_that_is_away_is_a_fault(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    store = open_store(bucket)
    with pytest.raises(StoreFault, match=r"s3://"):
        store.list()
    with pytest.raises(StoreFault, match=r"s3://"):
        store.put("one", b"1")


def test_a_folder_that_cannot_be_is_a_fault_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(StoreFault, match="cannot be written"):
        open_store(tmp_path / "file" / "store").put("one", b"1")
    with pytest.raises(BadInput, match="cannot be read"):
        open_store(tmp_path / "file").list()
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.put("b0/one", b"1")
    (tmp_path / "b0" / ".two.12-34").write_text("half")
    (tmp_path / "b0" / ".nfs").write_text("not ours")
    assert [each.name for each in store.list("b0")] == ["one"]
    store.remove_torn("b0")  # type: ignore[attr-defined]  # of folders
    assert sorted(each.name for each in (tmp_path / "b0").iterdir()) == [".nfs", "one"]


@pytest.mark.parametrize("address", ["s3://", "unknown://bucket"])
def test_an_address_that_nothing_understands_is_refused(address: str) -> None:
    with pytest.raises(BadInput, match="is not an address of a store"):
        open_store(address)


def test_a_relative_path_starts_at_a_folder_and_an_address_does_not(tmp_path: Path) -> None:
    assert located("s3://bucket/prefix", tmp_path) == "s3://bucket/prefix"
    assert located("out/telemetry", tmp_path) == str(tmp_path / "out" / "telemetry")
    assert located("/out", tmp_path) == "/out"
    assert (is_address("s3://bucket"), is_address("file:///out"), is_address("out")) == (True, False, False)


def test_the_library_of_tables_is_told_the_same_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    assert table_uri(tmp_path / "a: b") == (tmp_path / "a: b").as_uri()
    assert table_uri("s3://bucket/out") == "s3://bucket/out"
    assert table_options("s3://bucket/out") == {"AWS_ALLOW_HTTP": "true"}
    assert table_options(tmp_path) == {}
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://store.example.net")
    assert table_options("s3://bucket/out") == {}
