"""Tables of measured costs, as `regraft measure` writes them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

NAMES = ("from", "to", "round_trip", "linked")
WINDOW = "window=2026-01-05 12%3A00%3A00"


def cost_tables(
    folder: Path, links: Sequence[tuple[str, str, float | None, bool]], processor: Mapping[str, float]
) -> None:
    """Round trips in microseconds; seconds of processor time for 5,000 messages at each broker."""
    counts = {"publications": 5000, "hops_in": 0, "hops_out": 0, "deliveries": 0}
    written = {
        "link_costs": [dict(zip(NAMES, each, strict=True)) for each in links],
        "broker_load": [{"broker": id, "cpu": cpu, **counts} for id, cpu in processor.items()],
    }
    for name, rows in written.items():
        place = folder / name / WINDOW
        place.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows), place / "part.parquet")
    records = dict.fromkeys(("read", "kept", "rejected", "duplicated", "late"), 0)
    manifest = {"schema": 1, "counts": records, "windows": [{"start": "2026-01-05T12:00:00Z"}]}
    (folder / "manifest.json").write_text(json.dumps(manifest))
