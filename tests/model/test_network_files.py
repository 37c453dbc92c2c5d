"""Switch networks in files, and everything that can be wrong with them."""

import json
from pathlib import Path
from typing import Any

import pytest

from regraft.model import BadInput
from regraft.model.network_files import network_from, read_network
from regraft.model.switch_network import SwitchNetwork, check_connected

ZOO = Path(__file__).parents[1] / "data" / "topology_zoo"


def test_topology_zoo_files_are_read_with_positions_and_parallel_cables() -> None:
    network = read_network(ZOO / "Abilene.graphml")
    assert (len(network.switches), len(network.edges)) == (11, 28)
    assert network.positions is not None
    assert len(network.positions) == 11
    check_connected(network)


def test_our_json_says_weights_bounds_and_one_way_cables() -> None:
    network = network_from(
        {
            "switches": ["a", {"id": "b", "longitude": 9, "latitude": 48}],
            "cables": [
                ["a", "b"],
                {"id": "x", "ends": ["b", "a"], "weight": 4, "upper": 9, "one_way": True},
                {"ends": ["a", "b"], "weight": 500},
            ],
        }
    )
    assert [edge[:4] for edge in network.edges] == [
        ("a", "b", "c0", 1.0),
        ("b", "a", "c0", 1.0),
        ("b", "a", "x", 4.0),
        ("a", "b", "c2", 500.0),
        ("b", "a", "c2", 500.0),
    ]
    assert network.edges[2].upper == 9
    assert network.opposite == (1, 0, None, 4, 3)
    assert network.cables["a"] == ("c0", "x", "c2")


def test_sndlib_node_link_files_have_lengths_as_weights() -> None:
    network = network_from(
        {
            "nodes": [{"id": 0, "pos": [8.0, 50.0]}, {"id": 1, "pos": [9.0, 51.0]}],
            "edges": [{"source": 0, "target": 1, "dist": 131.5}],
        }
    )
    assert network.switches == ("0", "1")
    assert [edge.weight for edge in network.edges] == [131.5, 131.5]


def test_rocketfuel_lines_are_directions_of_cables(tmp_path: Path) -> None:
    path = tmp_path / "weights.intra"
    path.write_text("London,+UK1 Paris2 5\nParis2 London,+UK1 7.5\n\n")
    network = read_network(path)
    assert [(edge.source, edge.weight) for edge in network.edges] == [("London,+UK1", 5.0), ("Paris2", 7.5)]
    assert network.opposite == (1, 0)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "must be an object"),
        ({"cables": []}, "'switches' is missing"),
        ({"switches": ["a"]}, "'cables' is missing"),
        ({"switches": [], "cables": []}, "at least one switch"),
        ({"switches": ["a", "a"], "cables": []}, "switches[1]: switch id 'a' is given twice"),
        ({"switches": ["a", 1], "cables": []}, "switches[1]"),
        ({"switches": ["a", "b"], "cables": [["a", "x"]]}, "unknown switch id 'x'"),
        ({"switches": ["a", "b"], "cables": [["a", "a"]]}, "joins 'a' to itself"),
        ({"switches": ["a", "b"], "cables": [["a"]]}, "two ends, not 1"),
        ({"switches": ["a", "b"], "cables": [{"ends": ["a", "b"], "weight": -1}]}, "cables[0].weight"),
        (
            {"switches": ["a", "b"], "cables": [{"ends": ["a", "b"], "weight": 3, "upper": 2}]},
            "outside its bounds",
        ),
        ({"switches": ["a", "b"], "cables": [{"ends": ["a", "b"], "one_way": 1}]}, "true or false"),
        (
            {
                "switches": ["a", "b"],
                "cables": [{"id": "c", "ends": ["a", "b"]}, {"id": "c", "ends": ["a", "b"]}],
            },
            "cable id 'c' is given twice",
        ),
    ],
)
def test_faults_of_a_network_are_one_line_with_place_and_rule(document: Any, message: str) -> None:
    with pytest.raises(BadInput) as fault:
        network_from(document)
    assert message in str(fault.value)
    assert "\n" not in str(fault.value)


def test_faults_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    path.write_text(json.dumps({"switches": ["a", "a"], "cables": []}))
    with pytest.raises(BadInput, match=r"net\.json: switches\[1\]"):
        read_network(path)
    other = tmp_path / "x.intra"
    other.write_text("a b\n")
    with pytest.raises(BadInput, match=r"x\.intra: line 1"):
        read_network(other)


def test_one_way_cables_can_cut_a_network() -> None:
    network = network_from({"switches": ["a", "b"], "cables": [{"ends": ["a", "b"], "one_way": True}]})
    with pytest.raises(BadInput, match="no path leads from 'b' to 'a'"):
        check_connected(network)
    check_connected(SwitchNetwork.of([("a", "b")]))
