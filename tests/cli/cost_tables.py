"""Tables of measured costs, as `regraft measure` writes them."""

from collections.abc import Sequence
from pathlib import Path

from tests.model.measured_tables import write_tables

NAMES = ("from", "to", "round_trip", "linked")


def cost_tables(folder: Path, links: Sequence[tuple[str, str, float | None, bool]]) -> None:
    """Round trips in microseconds."""
    write_tables(folder, {"link_costs": [dict(zip(NAMES, each, strict=True)) for each in links]})
