"""Reads what was measured from a folder of tables that `regraft measure` has written."""

from pathlib import Path

from regraft.costs.costs import Costs
from regraft.costs.measured import RecentCosts, round_trips
from regraft.model import BadInput, Topology, ends
from regraft.model.files import faults_in, read_parquet, shown
from regraft.model.snapshot import read_snapshot

COLUMNS = ("from", "to", "round_trip", "linked")


def read_costs(place: Path) -> tuple[Costs, Topology]:
    """The costs that all windows of the newest snapshot show together, and the links that were in use.

    `BadInput` if no round trip was measured.
    """
    table = read_snapshot(place).table("link_costs")
    none = BadInput(shown(place), "has no round trips: run brokers with --telemetry, and measure again")
    if not table.is_dir():
        raise none
    with faults_in(table):
        found = read_parquet(table)
        if missing := [name for name in COLUMNS if name not in found.column_names]:
            raise BadInput("", f"there must be a column {missing[0]!r}")
        rows = found.to_pylist()
    costs = RecentCosts().take(round_trips(rows))
    if costs is None:
        raise none
    used = sorted({ends(row["from"], row["to"]) for row in rows if row["linked"]})
    return costs, Topology.of(used, sorted({id for pair in costs.round_trips for id in pair}), "mesh")
