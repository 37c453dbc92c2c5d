"""What brokers write is what the pipeline reads."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.measure.snapshots import table
from tests.measure.telemetry import at
from tests.measure.test_run import measured

from regraft.broker.io import records
from regraft.broker.io.records import Delivery, Health, Hop, Interest, Publication
from regraft.model.snapshot import Counts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = (Publication, Hop, Delivery, Interest, Health)


def test_every_field_of_every_record_is_a_column() -> None:
    from regraft.measure.schemas import RECORD_VERSION, RECORDS, REQUIRED

    assert RECORD_VERSION == records.SCHEMA
    names = {field.encode_name for kind in KINDS for field in msgspec.structs.fields(kind)} | {"kind"}
    assert names == set(RECORDS.fieldNames())
    tags = {kind.__struct_config__.tag: kind for kind in KINDS}
    assert tags.keys() == REQUIRED.keys()
    for tag, kind in tags.items():
        assert set(REQUIRED[str(tag)]) <= {field.encode_name for field in msgspec.structs.fields(kind)}


@pytest.mark.slow
def test_records_as_brokers_encode_them_are_kept(spark: "SparkSession", tmp_path: Path) -> None:
    seen = [
        Publication(
            at=at(1),
            broker="b1",
            publisher="p",
            seq=1,
            topic="t",
            numbers={"x": 1.5},
            strings={"topic": "t"},
            size=9,
        ),
        Hop(at=at(1.1), broker="b1", publisher="p", seq=1, from_="b1", to="b2", queue=0),
        Delivery(at=at(1.2), broker="b2", publisher="p", seq=1, subscriber="s", latency=200_000),
        Interest(
            at=at(0.5), broker="b2", client="s", role="subscriber", filter="topic = 't'", change="added"
        ),
        Health(
            at=at(2),
            broker="b1",
            cpu=0.1,
            memory=5,
            queue=0,
            rates={"in": 1.0},
            links={"b2": "up"},
            not_recorded=0,
        ),
    ]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "b1-1.ndjson").write_bytes(msgspec.json.Encoder().encode_lines(seen))
    wanted = frozenset({"traffic_classes", "interest"})
    ran = measured(spark, tmp_path / "in", tmp_path / "out", wanted)
    assert ran.counts == Counts(read=5, kept=5)
    assert table(tmp_path / "out", "traffic_classes", "members", "demand") == [(("b1", "b2"), 1)]
    assert table(tmp_path / "out", "interest", "broker", "topic") == [("b2", "t")]
