"""What brokers write is what the pipeline reads."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import pytest
from tests.measure.snapshots import table
from tests.measure.telemetry import LIFE, at
from tests.measure.test_run import measured

from regraft.model.snapshot import Counts
from regraft.model.store import open_store
from regraft.protocol.telemetry import Delivery, Health, Hop, Interest, Publication
from regraft.segments.names import SegmentName
from regraft.segments.writing import segment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def micros(seconds: float) -> int:
    return round(at(seconds).timestamp() * 1e6)


DOCUMENT = Path(__file__).parents[2] / "docs/reference/files.md"
TEXTS, NUMBERS = "map<string,string>", "map<string,double>"


def test_the_schema_for_spark_is_derived_from_the_records() -> None:
    """The literals in these tests are the schemas as files have them. They change together with a field."""
    from regraft.measure.schemas import RECORDS

    assert [(field.name, field.dataType.simpleString()) for field in RECORDS.fields] == [
        *(("v", "int"), ("kind", "string"), ("at", "timestamp"), ("broker", "string"), ("one_in", "bigint")),
        *(("publisher", "string"), ("seq", "bigint"), ("topic", "string")),
        *(("numbers", NUMBERS), ("strings", TEXTS), ("size", "bigint")),
        *(("from", "string"), ("to", "string"), ("queue", "bigint"), ("transformation", "string")),
        *(("subscriber", "string"), ("latency", "bigint")),
        *(("client", "string"), ("role", "string"), ("filter", "string"), ("change", "string")),
        *(("cpu", "double"), ("memory", "bigint"), ("rates", NUMBERS), ("links", TEXTS)),
        *(("round_trips", NUMBERS), ("delivery_rates", NUMBERS), ("not_recorded", "bigint")),
        *(("of", "string"), ("since", "timestamp"), ("count", "bigint")),
        *(("bucket", "bigint"), ("largest", "bigint")),
    ]


def test_required_fields_limits_and_words_are_derived_from_the_records() -> None:
    from regraft.protocol.record_fields import COLUMNS, REQUIRED

    assert REQUIRED == {
        "publication": ("publisher", "seq", "size"),
        "hop": ("publisher", "seq", "from", "to", "queue"),
        "delivery": ("publisher", "seq", "subscriber", "latency"),
        "interest": ("client", "role", "filter", "change"),
        "health": ("cpu", "memory", "queue"),
        "count": ("of", "seq", "since", "count", "one_in"),
    }
    limits = {field.name: field.least for field in COLUMNS if field.least is not None}
    assert limits.pop("one_in") == 1
    added_up = ("size", "queue", "latency", "count", "largest")
    most = dict.fromkeys(added_up, 2**53) | {"one_in": 2**21, "bucket": 4400}
    assert {field.name: field.most for field in COLUMNS if field.most is not None} == most
    zero = ("seq", "size", "queue", "latency", "memory", "count", "bucket", "largest")
    assert limits == dict.fromkeys(zero, 0)
    words = {field.name: field.words for field in COLUMNS if field.words}
    assert words == {
        "role": ("publisher", "subscriber"),
        "change": ("added", "removed"),
        "of": ("delivery", "hop", "latency", "publication"),
    }


def test_the_schema_of_segments_is_that_for_spark() -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    from regraft.measure.schemas import RECORDS, SPARK
    from regraft.protocol.record_fields import Holds
    from regraft.segments.schema import ARROW
    from regraft.segments.schema import RECORDS as OF_SEGMENTS

    assert ARROW.keys() == SPARK.keys() == set(Holds)
    for ours, theirs in zip(OF_SEGMENTS, to_arrow_schema(RECORDS, timezone="UTC"), strict=True):
        assert (ours.name, str(ours.type)) == (theirs.name, str(theirs.type))


def test_a_field_that_is_added_to_a_record_is_derived_and_one_of_an_unknown_type_is_refused() -> None:
    from regraft.protocol.record_fields import Holds, RecordField, fields_of

    class More(Delivery, tag="more", frozen=True, kw_only=True):
        added: Annotated[int, msgspec.Meta(extra={"least": 2})]
        maybe: str | None

    class Unknown(Delivery, tag="unknown", frozen=True, kw_only=True):
        added: bytes

    *_, added, maybe = fields_of(More)
    assert added == RecordField("added", Holds.WHOLE, required=True, least=2)
    assert maybe == RecordField("maybe", Holds.TEXT, required=False)
    with pytest.raises(TypeError, match="records do not hold"):
        fields_of(Unknown)


def test_the_reference_lists_every_field() -> None:
    from regraft.protocol.record_fields import COMMON, FIELDS

    lines = DOCUMENT.read_text().splitlines()
    for kind, fields in FIELDS.items():
        (line,) = (line for line in lines if line.startswith(f"| `{kind}` |"))
        _, *listed = re.findall(r"`(\w+)`", line)
        assert listed == [field.name for field in fields if field.name not in {*COMMON, "one_in"}]


@pytest.mark.slow
def test_records_in_segments_as_brokers_write_them_are_kept(spark: "SparkSession", tmp_path: Path) -> None:
    seen = [
        Publication(
            at=micros(1),
            broker="b1",
            publisher="p",
            seq=1,
            topic="t",
            numbers={"x": 1.5},
            strings={"topic": "t"},
            size=9,
        ),
        Hop(at=micros(1.1), broker="b1", publisher="p", seq=1, from_="b1", to="b2", queue=0),
        Delivery(at=micros(1.2), broker="b2", publisher="p", seq=1, subscriber="s", latency=200_000),
        Interest(
            at=micros(0.5), broker="b2", client="s", role="subscriber", filter="topic = 't'", change="added"
        ),
        Health(
            at=micros(2),
            broker="b1",
            cpu=0.1,
            memory=5,
            queue=0,
            rates={"in": 1.0},
            links={"b2": "up"},
            round_trips={"b2": 1500, "b3": 20},
            delivery_rates={"b2": 10**9},
            not_recorded=0,
        ),
    ]
    store = open_store(tmp_path / "in")
    for broker in ("b1", "b2"):
        name = SegmentName(broker, "2026-01-05T12", LIFE, 1)
        store.put(name.path, segment(broker, [record for record in seen if record.broker == broker]))
    wanted = frozenset({"traffic_classes", "interest", "link_costs"})
    ran = measured(spark, tmp_path / "in", tmp_path / "out", wanted)
    assert ran.counts == Counts(read=5, kept=5)
    assert table(tmp_path / "out", "traffic_classes", "members", "demand") == [(("b1", "b2"), 1)]
    assert table(tmp_path / "out", "interest", "broker", "topic") == [("b2", "t")]
    columns = ("from", "to", "round_trip", "bytes_per_second", "linked")
    assert table(tmp_path / "out", "link_costs", *columns) == [
        ("b1", "b2", 1500, 10**9, True),
        ("b1", "b3", 20, None, False),
    ]
