"""Reads hops and deliveries, as brokers write them, with Arrow.

Spark's JSON reader and the checks (`checks`) take ten times as long for a line. The result is the one that
they would give; a line about which there is any doubt is left to them unchanged.
"""

import time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from regraft.measure.record_fields import FRACTIONAL, REQUIRED, Holds, columns

KINDS = ("hop", "delivery")
_MARK = f'"kind":"({"|".join(KINDS)})"'
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$"
AT = pa.timestamp("us", tz="UTC")
ARROW = {
    Holds.TEXT: pa.string(),
    Holds.WHOLE: pa.int64(),
    Holds.SHORT: pa.int32(),
    Holds.NUMBER: pa.float64(),
    Holds.TIME: AT,
    Holds.NUMBERS: pa.map_(pa.string(), pa.float64()),
    Holds.TEXTS: pa.map_(pa.string(), pa.string()),
}
_COLUMNS = columns(KINDS)
assert not any(field.words for field in _COLUMNS), "only `plain_rare` checks words"
PLAIN = pa.schema([(field.name, ARROW[field.holds]) for field in _COLUMNS])
"""The columns of records that can be read here."""
_READ_AS = {"at": pa.string()} | dict.fromkeys(FRACTIONAL, pa.float64())
"""The types of columns that are read as another one first. The records themselves are as in `PLAIN`."""
_SCHEMA = pa.schema([(field.name, _READ_AS.get(field.name, field.type)) for field in PLAIN])
_LARGEST = 1 << 53
FEW = 64
"""In a group of at most this many lines, a line that cannot be read makes all of them not plain."""


def frequent(text: pa.StringArray) -> tuple[pa.RecordBatch, pa.BooleanArray]:
    """The records of the plain lines among these (with their line ends), and which lines they are."""
    chosen = pc.match_substring_regex(text, _MARK)
    found, plain = _read(text.filter(chosen))
    return found, pc.replace_with_mask(chosen, chosen, plain)


def _read(text: pa.StringArray) -> tuple[pa.RecordBatch, pa.BooleanArray]:
    """As above, of lines that look plain. If one cannot be read, the lines are halved and tried again."""
    count = len(text)
    if count and (records := _parsed(text)) is not None:
        plain = _is_plain(records)
        return _typed(records.filter(plain)), plain
    if count <= FEW:
        return _typed(_SCHEMA.empty_table()), pa.array([False] * count, pa.bool_())
    parts = [_read(text.slice(start, count // 2 + 1)) for start in (0, count // 2 + 1)]
    records = pa.Table.from_batches([batch for batch, _ in parts]).combine_chunks()
    return _one(records), pa.concat_arrays([plain for _, plain in parts])


def _parsed(text: pa.StringArray) -> pa.Table | None:
    """One record for each line, or None."""
    whole = pc.and_(pc.starts_with(text, "{"), pc.ends_with(text, "}\n"))
    if not pc.all(whole).as_py():
        return None
    try:
        text.validate(full=True)  # it must be UTF-8
        buffer = _joined(text)
        table = pj.read_json(
            pa.BufferReader(buffer),
            pj.ReadOptions(use_threads=False, block_size=buffer.size + 1),
            pj.ParseOptions(explicit_schema=_SCHEMA, unexpected_field_behavior="error"),
        )
        if table.num_rows != len(text) or not pc.all(pc.match_substring_regex(table["at"], TIME)).as_py():
            return None
        return table.set_column(PLAIN.get_field_index("at"), "at", table["at"].cast(AT)).combine_chunks()
    except pa.ArrowInvalid:
        return None


def _joined(text: pa.StringArray) -> pa.Buffer:
    """The bytes of all lines, which are contiguous in memory."""
    _, ends, data = text.buffers()
    first, last = (
        int.from_bytes(ends[4 * n : 4 * n + 4].to_pybytes(), "little")
        for n in (text.offset, text.offset + len(text))
    )
    return data.slice(first, last - first)


def _is_plain(records: pa.Table) -> pa.BooleanArray:
    """All rules of `checks` for these kinds, but stricter: no time may be later than now."""
    at = records["at"].cast(pa.int64())
    limits = [(records[field.name], field.least) for field in _COLUMNS if field.least is not None]
    whole = [records[name] for name in PLAIN.names if name in FRACTIONAL]
    rules = [
        pc.and_(pc.greater_equal(at, 0), pc.less_equal(at, time.time_ns() // 1000)),
        pc.not_equal(records["broker"], ""),
        *(pc.greater_equal(pc.fill_null(column, least), least) for column, least in limits),
        *(pc.equal(pc.fill_null(pc.floor(column), 0), pc.fill_null(column, 0)) for column in whole),
        *(pc.less_equal(pc.fill_null(column, 0), _LARGEST) for column in whole),
    ]
    of_kind = []
    for kind in KINDS:
        there = [pc.is_valid(records[name]) for name in REQUIRED[kind]]
        of_kind.append(_all([pc.equal(records["kind"], kind), *there]))
    plain = pc.fill_null(_all([*rules, pc.or_(*of_kind)]), False)
    return plain.combine_chunks() if isinstance(plain, pa.ChunkedArray) else plain


def _all(rules: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    found = rules[0]
    for rule in rules[1:]:
        found = pc.and_kleene(found, rule)
    return found


def _typed(records: pa.Table) -> pa.RecordBatch:
    return _one(records.cast(PLAIN))


def _one(records: pa.Table) -> pa.RecordBatch:
    batches = records.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], PLAIN)
