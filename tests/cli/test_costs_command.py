"""`regraft costs` on tables as `regraft measure` writes them."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run, refused
from tests.cli.cost_tables import cost_tables

from regraft.model.topology_files import read_topology

LINKS = [
    ("a", "b", 4000.0, True),
    ("b", "a", 4200.0, True),
    ("b", "c", 8000.0, True),
    ("c", "d", 16000.0, True),
    ("a", "c", 12000.0, False),
    ("a", "d", 30000.0, False),
]


def test_it_shows_links_with_their_costs_and_writes_a_network(regraft: Run, tmp_path: Path) -> None:
    cost_tables(tmp_path / "tables", LINKS)
    done = regraft("costs", "tables", "-o", "network.json")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert [line.split()[:3] for line in lines[1:4]] == [["a", "-", "b"], ["b", "-", "c"], ["c", "-", "d"]]
    assert any("b - d" in line and "~" in line for line in lines), "nobody has measured it"
    assert "A link of cost 1 has a round trip of 12 ms." in done.stdout
    network = read_topology(tmp_path / "network.json")
    assert network.kind == "mesh"
    assert len(network.links) == 6
    assert network.by_ends[("a", "b")].latency_ms == 2.1
    assert network.by_ends[("a", "b")].cost == pytest.approx(4.2 / 12)


def test_as_json_it_says_what_was_measured_and_what_is_estimated(regraft: Run, tmp_path: Path) -> None:
    cost_tables(tmp_path / "tables", LINKS)
    done = regraft("costs", "tables", "--json")
    assert done.exit_code == 0, done.output
    told = {tuple(each["ends"]): each for each in json.loads(done.stdout)["links"]}
    assert told[("a", "b")]["measured"]
    assert told[("a", "b")]["linked"]
    assert told[("a", "b")]["round_trip_ms"] == 4.2
    assert not told[("b", "d")]["measured"]
    assert 4 < told[("b", "d")]["round_trip_ms"] < 40


def test_tables_without_round_trips_are_refused(regraft: Run, tmp_path: Path) -> None:
    cost_tables(tmp_path / "tables", [("a", "b", None, True)])
    assert refused(regraft("costs", "tables")).startswith("tables: has no round trips: run brokers with")
    assert "nowhere: has no tables of `regraft measure`" in refused(regraft("costs", "nowhere"))
    (file,) = (tmp_path / "tables" / "link_costs").rglob("*.parquet")
    file.write_text("no table")
    assert ".parquet: not Parquet" in refused(regraft("costs", "tables"))
