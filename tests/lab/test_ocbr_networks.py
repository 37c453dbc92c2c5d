"""Readers of published networks: STP, SNDlib's node-link JSON, Rocketfuel."""

import json
from pathlib import Path

import pytest

from regraft.lab.ocbr_networks import read_optima, read_rocketfuel, read_sndlib, read_stp
from regraft.model import BadInput
from regraft.model.traffic import TrafficClass

STP = """33D32945 STP File, STP Format Version 1.0
SECTION Graph
Nodes 4
Edges 4
E 1 2 5
E 2 1 3
E 2 3 1
E 3 3 9
E 3 4 2
END
SECTION Terminals
Terminals 2
T 1
T 4
END
EOF
"""


def test_an_stp_file_is_a_network_and_one_class(tmp_path: Path) -> None:
    (tmp_path / "tiny.stp").write_text(STP)
    instance = read_stp(tmp_path / "tiny.stp")
    assert instance.name == "tiny"
    assert instance.network.ids == ("1", "2", "3", "4")
    assert {pair: link.cost for pair, link in instance.network.by_ends.items()} == {
        ("1", "2"): 3.0, ("2", "3"): 1.0, ("3", "4"): 2.0,
    }  # fmt: skip
    assert instance.traffic == (TrafficClass(frozenset({"1", "4"}), 1.0),)


@pytest.mark.parametrize(("text", "said"), [("hello", "not an STP file"), ("Nodes many", "line 1: a number")])
def test_what_is_no_stp_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "bad.stp").write_text(text)
    with pytest.raises(BadInput, match=said):
        read_stp(tmp_path / "bad.stp")


def test_optima_are_read_by_name(tmp_path: Path) -> None:
    (tmp_path / "optima.csv").write_text("group,file,optimum\nB,b01.stp,82\n")
    assert read_optima(tmp_path / "optima.csv") == {"b01": 82.0}


def test_demands_of_both_directions_are_one_class(tmp_path: Path) -> None:
    document = {
        "graph": {"demands": {"0": {"1": 5.0, "0": 9.0}, "1": {"0": 2.0}}},
        "nodes": [{"id": 0, "name": "Here", "pos": [0, 0]}, {"id": 1, "name": "There", "pos": [1, 1]}],
        "edges": [{"source": 0, "target": 1, "dist": 12.5}],
    }
    (tmp_path / "two.json").write_text(json.dumps(document))
    instance = read_sndlib(tmp_path / "two.json")
    assert instance.network.by_ends["0", "1"].cost == 12.5
    assert instance.network.brokers[0].label == "Here"
    assert instance.traffic == (TrafficClass(frozenset({"0", "1"}), 7.0),)


def test_a_rocketfuel_map_is_cut_to_its_largest_component(tmp_path: Path) -> None:
    (tmp_path / "latencies.intra").write_text("A,1 B,2 3\nB,2 A,1 3\nB,2 C,3 1.5\nX,9 Y,9 1\n")
    network = read_rocketfuel(tmp_path / "latencies.intra")
    assert network.ids == ("A,1", "B,2", "C,3")
    assert network.by_ends["B,2", "C,3"].latency_ms == 1.5
    (tmp_path / "bad").write_text("A B\n")
    with pytest.raises(BadInput, match="line 1: a line is: from to value"):
        read_rocketfuel(tmp_path / "bad")
