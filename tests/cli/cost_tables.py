"""Tables of measured costs, as `regraft measure` writes them."""

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

NAMES = ("from", "to", "round_trip", "linked")
WINDOW = "window=2026-01-05 12%3A00%3A00"


def cost_tables(folder: Path, links: Sequence[tuple[str, str, float | None, bool]]) -> None:
    """Round trips in microseconds."""
    place = folder / "link_costs" / WINDOW
    place.mkdir(parents=True)
    rows = [dict(zip(NAMES, each, strict=True)) for each in links]
    pq.write_table(pa.Table.from_pylist(rows), place / "part.parquet")
    records = dict.fromkeys(("read", "kept", "rejected", "duplicated", "late"), 0)
    manifest = {"schema": 1, "counts": records, "windows": [{"start": "2026-01-05T12:00:00Z"}]}
    (folder / "manifest.json").write_text(json.dumps(manifest))
