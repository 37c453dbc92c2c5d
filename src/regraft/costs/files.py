"""Reads what was measured from a folder of tables that `regraft measure` has written."""

from pathlib import Path

from regraft.costs.costs import Costs
from regraft.costs.measured import MeasuredCosts, RecentCosts
from regraft.model import BadInput, Topology, ends
from regraft.model.files import read_parquet, shown
from regraft.model.snapshot import read_snapshot

LOAD = ("broker", "publications", "hops_in", "hops_out", "deliveries", "cpu")


def read_costs(place: Path) -> tuple[Costs, Topology]:
    """The costs that all windows of the newest snapshot show together, and the links that were in use.

    `BadInput` if no round trip was measured.
    """
    snapshot = read_snapshot(place)
    links = read_parquet(snapshot.table("link_costs")).to_pylist()
    load = read_parquet(snapshot.table("broker_load")).to_pylist()
    costs = RecentCosts().take(MeasuredCosts.of_rows(links, load))
    if costs is None:
        raise BadInput(shown(place), "has no round trips: run brokers with --telemetry, and measure again")
    used = sorted({ends(row["from"], row["to"]) for row in links if row["linked"]})
    ids = sorted({row["broker"] for row in load} | {id for pair in costs.round_trips for id in pair})
    return costs, Topology.of(used, ids, "mesh")
