"""Parses and checks each record; an invalid one gets a reason.

Records of later versions are read as far as possible: unknown fields are left out. A record of an unknown
kind is rejected like an invalid one.
"""

from functools import reduce
from operator import itemgetter

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import DataType, DoubleType, LongType, StringType, StructField, StructType

from regraft.measure.conform import conform
from regraft.measure.record_fields import COLUMNS, FRACTIONAL, REQUIRED
from regraft.measure.schemas import LINES, RECORDS

FUTURE = 60_000_000
"""How many microseconds a broker's clock may be ahead of this machine's."""
MOST_TEXT = 2_000
"""How many characters of a rejected line are kept."""
_BROKEN = "_broken"

CHECKED = StructType([*RECORDS.fields, *LINES.fields, StructField("reason", StringType())])
"""A record, its file and line, and why it is rejected (null: it is valid)."""


def checked_lines(lines: DataFrame) -> DataFrame:
    """Lines of the spools → `CHECKED`. Empty lines are skipped."""
    text = f.when(f.is_valid_utf8("text"), f.col("text"))
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _BROKEN}
    read = lines.where(f.trim("text", f.lit(" \t\r\n")) != "").withColumn(
        "record", f.from_json(text, _json_schema(), options)
    )
    names = [name for name in RECORDS.fieldNames() if name != "at" and name not in FRACTIONAL]
    flat = read.select(
        *LINES.fieldNames(),
        "read_at",
        *(f.col(f"record.`{name}`").alias(name) for name in names),
        _time(f.col("record.at")).alias("at"),
        *(f.round(f"record.{name}").cast("long").alias(name) for name in FRACTIONAL),
    )
    broken = (
        f.when(~f.is_valid_utf8("text"), f.lit("not UTF-8"))
        .when(~f.ltrim("text").startswith("{"), f.lit("not a JSON object"))
        .when(
            f.col("kind").isNull() & f.col("broker").isNull() & f.col("at").isNull(),
            f.lit("not JSON, or nothing of a record"),
        )
    )
    kept = f.substring(f.make_valid_utf8(f.rtrim("text")), 1, MOST_TEXT)
    # These expressions must be the same for every micro-batch (so no literal `now`): otherwise Spark would
    # compile them anew each time.
    reason = f.coalesce(broken, _reason(f.col("read_at")))
    return conform(flat.select("*", reason.alias("reason")).withColumn("text", kept), CHECKED)


def checked_rows(rows: DataFrame, now: int) -> DataFrame:
    """Rows of compacted Parquet → `CHECKED`; `now` in microseconds. Missing columns are null."""
    given = {field.name: field.dataType for field in rows.schema.fields}
    if isinstance(given.get("at"), LongType):
        rows = rows.withColumn("at", f.timestamp_micros("at"))
    line = f.col("_metadata.row_index") + 1
    placed = rows.select("*", f.col("_metadata.file_name").alias("source"), line.alias("line"))
    table = conform(placed, StructType([*RECORDS.fields, *LINES.fields])).withColumn(
        "reason", _reason(f.lit(now))
    )
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
        (f.col("broker").isNull() | (f.col("broker") == ""), "broker: missing"),
    ]
    for one, fields in REQUIRED.items():
        rules += [
            ((kind == one) & f.col(f"`{field}`").isNull(), f"{field}: missing or of another type")
            for field in fields
        ]
    limits = [(field.name, field.least) for field in COLUMNS if field.least is not None]
    for name, least in sorted(limits, key=itemgetter(1)):
        rules.append((f.col(name) < least, f"{name}: below {least}" if least else f"{name}: negative"))
    rules += [
        (~f.col(field.name).isin(*field.words), f"{field.name}: another word")
        for field in COLUMNS
        if field.words
    ]
    (broken, reason), *others = rules
    chain = f.when(broken, f.lit(reason))
    return reduce(lambda so_far, rule: so_far.when(rule[0], f.lit(rule[1])), others, chain)


def _json_schema() -> StructType:
    """As `RECORDS`, except that times are parsed here (a number is microseconds), and that some numbers may
    have a fraction."""
    other: dict[str, DataType] = {"at": StringType(), **{name: DoubleType() for name in FRACTIONAL}}
    fields = [StructField(field.name, other.get(field.name, field.dataType)) for field in RECORDS.fields]
    return StructType([*fields, StructField(_BROKEN, StringType())])


def _time(text: Column) -> Column:
    whole = text.rlike(r"^\d{1,18}$")
    return f.when(whole, f.timestamp_micros(text.cast("long"))).otherwise(f.try_to_timestamp(text))
