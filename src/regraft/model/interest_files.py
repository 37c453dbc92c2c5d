"""Interest in files: who wants which topic (kTCO §III).

CSV or Parquet with the columns `node` and `topic`; further columns are ignored, a pair may occur twice. The
suffix `.parquet`, a folder as Spark writes it, or the first four bytes tell Parquet from CSV.

The measured table `interest` is read from where `regraft measure` writes: its column `broker` is the node,
and a row with an `until` is over.
Brokers whose clients publish on a topic count as well as those whose clients subscribe to it: in a mesh,
events travel over such brokers alone. A filter that pins no topic cannot be served by a mesh.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from regraft.model.errors import BadInput
from regraft.model.files import PARQUET, PARQUET_START, as_text, faults_in, read_bytes, read_parquet
from regraft.model.measured import read_measured

TABLE = "interest"
NODE, TOPIC, UNTIL = ("node", "broker"), "topic", "until"


def read_interest(path: str | Path) -> Mapping[str, frozenset[str]]:
    """Topic -> the nodes interested in it, from a file, or from a measured table, also at an address."""
    if (table := read_measured(path, TABLE)) is not None:
        with faults_in(path):
            return _from_table(table)
    path = Path(path)
    with faults_in(path):
        if path.is_dir():
            return _from_table(read_parquet(path))
        content = read_bytes(path)
        if content.startswith(PARQUET_START) or path.suffix.lower() == PARQUET:
            return _from_table(read_parquet(path))
        return _from_csv(as_text(content))


def _from_csv(text: str) -> Mapping[str, frozenset[str]]:
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    pairs: list[tuple[str, str]] = []
    try:
        header = next(lines)
        if TOPIC not in header or not set(NODE) & set(header):
            raise BadInput("line 1", "the header must name the columns 'node' and 'topic'")
        node, topic, until = _columns(header)
        for line in lines:
            if not line:
                continue
            row = dict(zip(header, line, strict=False))
            if not row.get(node) or not row.get(topic):
                raise BadInput(f"line {lines.line_num}", f"a row needs a {node} and a topic")
            if not row.get(until):
                pairs.append((row[node], row[topic]))
    except csv.Error as fault:
        raise BadInput(f"line {lines.line_num}", f"not CSV: {fault}") from None
    return _by_topic(pairs)


def _from_table(table: Any) -> Mapping[str, frozenset[str]]:
    node, topic, until = _columns(table.column_names)
    over = table[until].to_pylist() if until else [None] * table.num_rows
    rows = zip(table[node].to_pylist(), table[topic].to_pylist(), over, strict=True)
    return _by_topic(
        (_name(node_id, f"row {index}.{node}"), _name(name, f"row {index}.topic"))
        for index, (node_id, name, ended) in enumerate(rows)
        if ended is None
    )


def _columns(names: Sequence[str]) -> tuple[str, str, str]:
    """The columns of the node, of the topic, and of the end of an interest (empty: there is none)."""
    node = next((name for name in NODE if name in names), NODE[0])
    for name in (node, TOPIC):
        if names.count(name) != 1:
            raise BadInput("", f"there must be one column {name!r}")
    return node, TOPIC, UNTIL if UNTIL in names else ""


def _name(value: Any, place: str) -> str:
    if value is None:
        raise BadInput(place, "is missing: a mesh serves filters that name their topics, and no others")
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise BadInput(place, "must be text or a whole number, not empty")
    return str(value)


def _by_topic(pairs: Iterable[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    interested: dict[str, set[str]] = {}
    for node, topic in pairs:
        interested.setdefault(topic, set()).add(node)
    return {topic: frozenset(nodes) for topic, nodes in interested.items()}
