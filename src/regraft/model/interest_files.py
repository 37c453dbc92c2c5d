"""Interest in a CSV file with the columns `node,topic`: who wants which topic (kTCO §III)."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from regraft.model.errors import BadInput
from regraft.model.files import as_text, read_bytes, shown


def read_interest(path: str | Path) -> Mapping[str, frozenset[str]]:
    """Topic -> the nodes interested in it. Further columns are ignored; a pair may stand twice."""
    path = Path(path)
    content = read_bytes(path)
    try:
        return _interest(as_text(content))
    except BadInput as fault:
        raise fault.within(shown(path)) from None


def _interest(text: str) -> Mapping[str, frozenset[str]]:
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    interested: dict[str, set[str]] = {}
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
            interested.setdefault(row[topic], set()).add(row[node])
    except csv.Error as fault:
        raise BadInput(f"line {rows.line_num}", f"not CSV: {fault}") from None
    return {topic: frozenset(nodes) for topic, nodes in interested.items()}
