"""Checks each record; an invalid one gets a reason.

Records of later versions are read as far as possible: unknown fields are left out. A record of an unknown
kind is rejected like an invalid one.
"""

from functools import reduce
from operator import itemgetter

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from regraft.measure.conform import conform
from regraft.measure.schemas import LINES, RECORDS
from regraft.protocol.record_fields import COLUMNS, REQUIRED

FUTURE = 60_000_000
"""How many microseconds a broker's clock may be ahead of this machine's."""
COUNTED = {
    "publication": ("publisher", "size"),
    "hop": ("from", "to", "queue"),
    "delivery": ("publisher", "subscriber"),
    "latency": ("bucket", "latency", "largest"),
}
"""What a count of each kind says."""
MOST_TEXT = 2_000
"""How many characters of a rejected record are kept."""

CHECKED = StructType([*RECORDS.fields, *LINES.fields, StructField("reason", StringType())])
"""A record, its file and line, and why it is rejected (null: it is valid)."""


def checked_rows(rows: DataFrame, now: int) -> DataFrame:
    """Rows with the columns of records, `source` and `line` → `CHECKED`; `now` in microseconds."""
    table = rows.withColumn("reason", _reason(f.lit(now)))
    text = f.when(f.col("reason").isNotNull(), f.to_json(f.struct(*RECORDS.fieldNames())))
    return conform(table.withColumn("text", f.substring(text, 1, MOST_TEXT)), CHECKED)


def _reason(now: Column) -> Column:
    """The first rule that the record breaks; `now` in microseconds."""
    kind, at = f.col("kind"), f.unix_micros("at")
    rules = [
        (kind.isNull(), "kind: missing"),
        (~kind.isin(*REQUIRED), "unknown kind"),
        (f.col("at").isNull(), "at: missing or not a time"),
        (at > now + FUTURE, "at: in the future"),
        (at < 0, "at: before 1970"),
        (f.unix_micros("since") > now + FUTURE, "since: in the future"),
        (f.unix_micros("since") < 0, "since: before 1970"),
        (f.col("broker").isNull() | (f.col("broker") == ""), "broker: missing"),
    ]
    for one, fields in REQUIRED.items():
        rules += [
            ((kind == one) & f.col(f"`{field}`").isNull(), f"{field}: missing or of another type")
            for field in fields
        ]
    for of, fields in COUNTED.items():
        rules += [
            ((f.col("of") == of) & f.col(f"`{field}`").isNull(), f"{field}: missing in a count")
            for field in fields
        ]
    limits = [(field.name, field.least) for field in COLUMNS if field.least is not None]
    for name, least in sorted(limits, key=itemgetter(1)):
        rules.append((f.col(name) < least, f"{name}: below {least}" if least else f"{name}: negative"))
    rules += [
        (f.col(field.name) > field.most, f"{field.name}: above {field.most}")
        for field in COLUMNS
        if field.most is not None
    ]
    rules += [
        (~f.col(field.name).isin(*field.words), f"{field.name}: another word")
        for field in COLUMNS
        if field.words
    ]
    (broken, reason), *others = rules
    chain = f.when(broken, f.lit(reason))
    return reduce(lambda so_far, rule: so_far.when(rule[0], f.lit(rule[1])), others, chain)
