"""The OCBR experiment writes its tables and pictures, and its curves fall."""

import csv
from pathlib import Path

import pytest

from regraft.design.ocbr import Effort
from regraft.lab import ocbr, ocbr_timed
from regraft.lab.ocbr_workload import geographic, pairs_by_gravity, random_tree
from regraft.model import Topology


def test_the_experiment_measures_every_point_and_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By moves, not by time: on a busy machine the search would come less far.
    monkeypatch.setattr(ocbr_timed, "within_seconds", lambda seconds: Effort(moves=3_000))
    result = ocbr.run(tmp_path, sizes=(12, 20), local=(0, 100), seeds=1, time_limit=0.2)
    assert result == {"runs": 4, "traces": 4, "falling traces": 4}
    rows = list(csv.DictReader((tmp_path / "runs.csv").open()))
    assert [(row["size"], row["local"]) for row in rows] == [
        ("12", "0"), ("12", "100"), ("20", "0"), ("20", "100"),
    ]  # fmt: skip
    for row in rows:
        assert (
            0
            < float(row["bound"])
            <= float(row["global_search"])
            <= float(row["neighbourhoods"]) + 1e-3
            <= 1.001
        )
    assert all((tmp_path / name).stat().st_size > 1000 for name in ("sizes.png", "steps.png"))


def test_a_map_with_few_links_is_connected_and_one_seed_is_one_network() -> None:
    first, again = (geographic(60, 100, 5, near=3) for _ in range(2))
    assert first == again
    Topology.of(random_tree(first.network, 1), first.network.ids)  # a tree over all brokers, or refused
    known = set(first.network.ids)
    assert all(len(each.members) >= 1 and each.members <= known for each in first.traffic)
    assert len(geographic(6, 5, 1).network.links) == 15


def test_classes_for_a_network_without_demands_prefer_busy_brokers() -> None:
    star = Topology.of([("hub", f"b{number}") for number in range(20)])
    classes = pairs_by_gravity(star, 1, 200)
    assert sum("hub" in each.members for each in classes) > 100
    assert all(2 <= len(each.members) <= 4 for each in classes)
