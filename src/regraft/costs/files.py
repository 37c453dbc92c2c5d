"""Reads what was measured from the tables that `regraft measure` has written."""

from pathlib import Path

from regraft.costs.costs import Costs
from regraft.costs.measured import RecentCosts, round_trips
from regraft.model import BadInput, Topology, ends
from regraft.model.files import shown
from regraft.model.snapshot import read_snapshot


def read_costs(place: str | Path) -> tuple[Costs, Topology]:
    """The costs that all windows of the newest snapshot show together, and the links that were in use.

    `BadInput` if no round trip was measured.
    """
    rows = read_snapshot(place).rows("link_costs", ("from", "to", "round_trip", "linked"))
    costs = RecentCosts().take(round_trips(rows))
    if costs is None:
        raise BadInput(shown(place), "has no round trips: run brokers with --telemetry, and measure again")
    used = sorted({ends(row["from"], row["to"]) for row in rows if row["linked"]})
    return costs, Topology.of(used, sorted({id for pair in costs.round_trips for id in pair}), "mesh")
