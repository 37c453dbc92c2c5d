"""Interest in files: who wants which topic (kTCO §III).

CSV or Parquet with the columns `node` and `topic`; further columns are ignored, a pair may stand twice. The
suffix `.parquet`, a folder as Spark writes it, or the first four bytes tell Parquet from CSV.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from regraft.model.errors import BadInput
from regraft.model.files import as_text, read_bytes, shown

PARQUET, MAGIC = ".parquet", b"PAR1"
COLUMNS = ("node", "topic")


def read_interest(path: str | Path) -> Mapping[str, frozenset[str]]:
    """Topic -> the nodes interested in it."""
    path = Path(path)
    try:
        if path.is_dir():
            return _from_parquet(path)
        content = read_bytes(path)
        if content.startswith(MAGIC) or path.suffix.lower() == PARQUET:
            return _from_parquet(path)
        return _from_csv(as_text(content))
    except BadInput as fault:
        raise fault if fault.place == shown(path) else fault.within(shown(path)) from None


def _from_csv(text: str) -> Mapping[str, frozenset[str]]:
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    pairs: list[tuple[str, str]] = []
    try:
        header = next(rows)
        if "node" not in header or "topic" not in header:
            raise BadInput("line 1", "the header must name the columns 'node' and 'topic'")
        node, topic = header.index("node"), header.index("topic")
        for row in rows:
            if not row:
                continue
            if len(row) <= max(node, topic) or not row[node] or not row[topic]:
                raise BadInput(f"line {rows.line_num}", "a row needs a node and a topic")
            pairs.append((row[node], row[topic]))
    except csv.Error as fault:
        raise BadInput(f"line {rows.line_num}", f"not CSV: {fault}") from None
    return _by_topic(pairs)


def _from_parquet(path: Path) -> Mapping[str, frozenset[str]]:
    import pyarrow as pa  # noqa: PLC0415 - a third of a second, for those who have such files
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as fault:
        raise BadInput("", f"not Parquet: {str(fault).partition(chr(10))[0]}") from None
    for column in COLUMNS:
        if table.column_names.count(column) != 1:
            raise BadInput("", f"there must be one column {column!r}")
    rows = zip(*(table[column].to_pylist() for column in COLUMNS), strict=True)
    return _by_topic(
        (_name(node, f"row {index}.node"), _name(topic, f"row {index}.topic"))
        for index, (node, topic) in enumerate(rows)
    )


def _name(value: Any, place: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise BadInput(place, "must be text or a whole number, not empty")
    return str(value)


def _by_topic(pairs: Iterable[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    interested: dict[str, set[str]] = {}
    for node, topic in pairs:
        interested.setdefault(topic, set()).add(node)
    return {topic: frozenset(nodes) for topic, nodes in interested.items()}
