"""Real data in the formats in which it is published becomes interest tables and publication records."""

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from regraft.model import BadInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTEREST = {
    "friends.txt.gz": ("0 1\n0 2\n", {("0", "1"), ("1", "0"), ("0", "2"), ("2", "0")}),
    "lists.jsonl.gz": ('{"node": 7, "topics": ["Pop", "Rock"]}\n', {("7", "Pop"), ("7", "Rock")}),
    "listeners.tsv": ("userID\tartistID\tweight\n2\t51\t13\n2\t51\t9\n", {("2", "51")}),
}
QUOTES = (
    "[class,'STOCK'],[symbol,'YHOO'],[open,25.25],[volume,6475000],[date,'25-Jun-96']\n"
    "[class,'STOCK'],[symbol,'YHOO'],[open,24.5],[volume,100],[date,'24-Jun-96']\n"
)


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def events(spark: "SparkSession", path: Path) -> list[Any]:
    from regraft.measure.generate.real_events import real_events

    return sorted(real_events(spark, path).collect(), key=lambda record: record.seq)


def test_interest_is_told_by_the_kind_of_file(spark: "SparkSession", tmp_path: Path) -> None:
    from regraft.measure.generate.real_interest import real_interest

    for name, (text, wanted) in INTEREST.items():
        rows = real_interest(spark, written(tmp_path / name, text)).collect()
        assert {(row.node, row.topic) for row in rows} == wanted
        assert len(rows) == len(wanted)


def test_quotes_are_publications_in_the_order_of_the_file(spark: "SparkSession", tmp_path: Path) -> None:
    first, second = events(spark, written(tmp_path / "padres_stockquotes" / "YHOO.txt.gz", QUOTES))
    assert (first.kind, first.publisher, first.seq, first.topic) == ("publication", "YHOO", 1, "YHOO")
    assert first.numbers == {"open": 25.25, "volume": 6475000}
    assert first.strings == {"class": "STOCK", "symbol": "YHOO", "date": "25-Jun-96", "topic": "YHOO"}
    assert (second.seq, second.numbers["volume"]) == (2, 100)
    assert second.at > first.at


def test_what_is_missing_in_a_table_is_left_out(spark: "SparkSession", tmp_path: Path) -> None:
    table = "origin,temp,wind_gust\nEWR,39.02,NA\nEWR,38,\n"
    first, second = events(spark, written(tmp_path / "nyc_weather_2013_EWR.csv.gz", table))
    assert (first.numbers, first.strings["origin"]) == ({"temp": 39.02}, "EWR")
    assert second.numbers == {"temp": 38}


def test_events_of_motes_are_in_the_order_of_time(spark: "SparkSession", tmp_path: Path) -> None:
    cells = events(spark, written(tmp_path / "intel_lab_temperature_train.csv.gz", "1.8E+01,19\n20,21\n"))
    assert [(each.numbers["temperature"], each.strings["mote"]) for each in cells] == [
        (18, "mote0"),
        (20, "mote1"),
        (19, "mote0"),
        (21, "mote1"),
    ]


def test_an_unknown_or_missing_file_is_refused(tmp_path: Path) -> None:
    from regraft.measure.generate.real_events import real_events
    from regraft.measure.generate.real_interest import real_interest

    nobody: Any = None
    with pytest.raises(BadInput, match="unknown events; known are debs2015_taxi"):
        real_events(nobody, written(tmp_path / "other.csv", "a,b\n"))
    with pytest.raises(BadInput, match="there is no such file"):
        real_interest(nobody, tmp_path / "none.tsv")
    with pytest.raises(BadInput, match=r"interest is read from \.jsonl"):
        real_interest(nobody, written(tmp_path / "other.bin", "a"))
