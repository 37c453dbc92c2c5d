"""Traffic files: what is written is read back; what is wrong gets one line that says where."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from regraft.model import BadInput
from regraft.model.traffic import TrafficClass, check_members, merged
from regraft.model.traffic_files import read_traffic, write_traffic

CLASSES = (
    TrafficClass(frozenset({"b1", "b7"}), 5.0),
    TrafficClass(frozenset({"ü", "b1", "b2"}), 0.25),
    TrafficClass(frozenset({"b3"}), 0.0),
)


@pytest.mark.parametrize("name", ["traffic.json", "traffic.parquet", "traffic"])
def test_classes_written_are_the_classes_read(tmp_path: Path, name: str) -> None:
    write_traffic(CLASSES, tmp_path / name)
    assert read_traffic(tmp_path / name) == CLASSES


def test_no_classes_at_all_are_a_file_too(tmp_path: Path) -> None:
    for name in ("none.json", "none.parquet"):
        write_traffic((), tmp_path / name)
        assert read_traffic(tmp_path / name) == ()


def test_parquet_is_told_by_its_content_and_a_folder_holds_several(tmp_path: Path) -> None:
    folder = tmp_path / "window"
    folder.mkdir()
    for part in range(2):
        write_traffic(CLASSES[part : part + 1], folder / f"part-{part}.parquet")
    assert set(read_traffic(folder)) == set(CLASSES[:2])
    (folder / "part-0.parquet").rename(tmp_path / "no-suffix")
    assert read_traffic(tmp_path / "no-suffix") == CLASSES[:1]


def test_whole_numbers_and_further_columns_are_welcome_in_parquet(tmp_path: Path) -> None:
    table = pa.table({"demand": [3], "members": [["b1", "b1", "b2"]], "window": ["now"]})
    pq.write_table(table, tmp_path / "t.parquet")
    assert read_traffic(tmp_path / "t.parquet") == (TrafficClass(frozenset({"b1", "b2"}), 3.0),)


def test_equal_classes_add_up_and_those_without_demand_go() -> None:
    twice = [*CLASSES, TrafficClass(frozenset({"b7", "b1"}), 2.0)]
    assert merged(twice) == (TrafficClass(frozenset({"b1", "b7"}), 7.0), CLASSES[1])


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("{}", "the field 'classes' is missing"),
        ('{"classes": 3}', "classes: must be a list, not a number (3)"),
        ('{"classes": ["b1"]}', "classes[0]: must be an object, not text ('b1')"),
        ('{"classes": [{"demand": 1}]}', "classes[0]: the field 'members' is missing"),
        ('{"classes": [{"members": ["b1"]}]}', "classes[0]: the field 'demand' is missing"),
        ('{"classes": [{"members": [], "demand": 1}]}', "classes[0].members: a traffic class needs"),
        ('{"classes": [{"members": [1], "demand": 1}]}', "classes[0].members[0]: a broker id must"),
        ('{"classes": [{"members": ["b1"], "demand": -1}]}', "classes[0].demand: must be a finite number"),
        ('{"classes": [{"members": ["b1"], "demand": "many"}]}', "classes[0].demand: must be a number"),
        ('{"classes": [{"members": ["b1"], "demand": NaN}]}', "NaN is not a JSON number"),
        ("", "the file is empty"),
    ],
)  # fmt: skip
def test_a_bad_document_is_refused_in_one_line(tmp_path: Path, document: str, said: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(document)
    with pytest.raises(BadInput) as refused:
        read_traffic(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"members": [["b1"]]}, "there must be one column 'demand'"),
        ({"members": ["b1"], "demand": [1.0]}, "members: the column must hold lists of broker ids"),
        ({"members": [["b1"], None], "demand": [1.0, 1.0]}, "row 1.members: must be a list, not null"),
        ({"members": [["b1", None]], "demand": [1.0]}, "row 0.members[1]: a broker id must be a string"),
        ({"members": [["b1"]], "demand": [-1.0]}, "row 0.demand: must be a finite number at least 0"),
        ({"members": [["b1"]], "demand": [None]}, "row 0.demand: must be a number, not null"),
    ],
)
def test_a_bad_parquet_file_is_refused_in_one_line(
    tmp_path: Path, columns: dict[str, list[object]], said: str
) -> None:
    path = tmp_path / "bad.parquet"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(BadInput) as refused:
        read_traffic(path)
    assert str(refused.value).startswith(f"{path}: {said}")


def test_what_is_no_file_or_no_parquet_is_said(tmp_path: Path) -> None:
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and no more")
    for name, said in (("cut.parquet", "not Parquet"), ("none.json", "there is no such file")):
        with pytest.raises(BadInput, match=said):
            read_traffic(tmp_path / name)


def test_unknown_members_are_named() -> None:
    check_members(CLASSES, ["b1", "b2", "b3", "b7", "ü"])
    with pytest.raises(BadInput, match=r"classes\[1\].members: unknown broker id 'ü'"):
        check_members(CLASSES, ["b1", "b2", "b3", "b7"])


def test_one_class_stands_on_one_line(tmp_path: Path) -> None:
    write_traffic(CLASSES, tmp_path / "t.json")
    lines = (tmp_path / "t.json").read_text().splitlines()
    assert json.loads(lines[1].rstrip(",")) == {"members": ["b1", "b7"], "demand": 5.0}
    assert len(lines) == len(CLASSES) + 2
