"""`regraft evaluate`: what it prints for one topology and for two, and what it refuses."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run, answered, refused

from regraft.cli.evaluate_command import OBJECTIVES
from regraft.evaluate import OBJECTIVES as KNOWN
from regraft.model.topology_files import read_topology
from regraft.model.traffic import TrafficClass
from regraft.model.traffic_files import write_traffic

CLASSES = {"classes": [{"members": ["a", "c"], "demand": 5}, {"members": ["d", "e"], "demand": 2}]}
INTEREST = "node,topic\na,all\nb,all\nc,all\nd,all\na,pair\nb,pair\n"


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    (folder / "traffic.json").write_text(json.dumps(CLASSES))
    (folder / "interest.csv").write_text(INTEREST)


def test_one_topology_has_its_costs_on_the_outermost_level(regraft: Run) -> None:
    answer = answered(regraft("evaluate", "now.json", "--traffic", "traffic.json", "--json"))
    assert (answer["link_cost"], answer["broker_cost"], answer["routing_cost"]) == (12, 19, 31)
    assert answer["topology"] == read_topology("now.json").sha256
    assert (answer["max_degree"], answer["max_link_load"], answer["classes"]) == (2, 5, 2)
    assert answer["expected_latency_ms"] is None
    assert "4 of 4 links" in answer["notes"][0]
    assert "parts" not in answer


def test_alpha_and_beta_are_weights(regraft: Run) -> None:
    options = ("--traffic", "traffic.json", "--alpha", "0", "--beta", "2", "--json")
    answer = answered(regraft("evaluate", "now.json", *options))
    assert (answer["routing_cost"], answer["link_cost"]) == (38, 12)


def test_two_topologies_are_compared_and_the_difference_explained(regraft: Run) -> None:
    answer = answered(regraft("evaluate", "now.json", "goal.json", "--traffic", "traffic.json", "--json"))
    assert (answer["first"]["routing_cost"], answer["second"]["routing_cost"]) == (31, 25)
    assert answer["difference"]["routing_cost"] == -6
    gain = {"members": ["a", "c"], "demand": 5, "before": 25, "after": 15, "change": -10}
    loss = {"members": ["d", "e"], "demand": 2, "before": 6, "after": 10, "change": 4}
    assert (answer["gains"], answer["losses"]) == ([gain], [loss])
    assert (answer["better"], answer["worse"], answer["same"]) == (1, 1, 0)


def test_people_get_tables(regraft: Run) -> None:
    result = regraft("evaluate", "now.json", "goal.json", "--traffic", "traffic.json", "--parts")
    assert result.exit_code == 0, result.stderr
    assert "-6 (-19.4%)" in result.stdout
    assert "classes that gain most" in result.stdout
    assert "1 classes cost less, 1 more, 0 the same" in result.stdout
    assert "link load in goal.json" in result.stdout


def test_meshes_are_judged_by_topics(regraft: Run) -> None:
    options = ("--interest", "interest.csv", "--parts", "--json")
    answer = answered(regraft("evaluate", "ring.json", *options))
    assert (answer["k"], answer["max_topic_diameter"], answer["average_topic_diameter"]) == (2, 2, 1.5)
    assert answer["parts"]["k"] == {"all": 2, "pair": None}


def test_traffic_may_be_parquet(regraft: Run, folder: Path) -> None:
    write_traffic([TrafficClass(frozenset("ac"), 5), TrafficClass(frozenset("de"), 2)], folder / "t.parquet")
    assert answered(regraft("evaluate", "now.json", "--traffic", "t.parquet", "--json"))["routing_cost"] == 31


def test_one_objective_may_be_asked_for(regraft: Run) -> None:
    options = ("--traffic", "traffic.json", "--objective", "degree", "--json")
    answer = answered(regraft("evaluate", "now.json", *options))
    assert "routing_cost" not in answer
    assert answer["average_degree"] == 1.6
    assert tuple(KNOWN) == OBJECTIVES


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["now.json", "--traffic", "none.json"], "none.json: there is no such file"),
        (
            ["now.json", "--traffic", "stranger.json"],
            "stranger.json: classes[0].members: unknown broker id 'x'",
        ),
        (["ring.json", "--interest", "stranger.csv"], "stranger.csv: interest in 't': unknown broker id 'x'"),
        (["now.json", "--alpha", "-1"], "must be a finite number from 0, not -1"),
        (["now.json", "--beta", "nan"], "must be a finite number from 0, not nan"),
        (["now.json", "--conf", "spark.a=1"], "--conf goes with --spark"),
        (["now.json", "--conf", "a=1"], "--conf a=1: must be KEY=VALUE"),
        (["now.json", "--objective", "speed"], "'speed' is not one of"),
    ],
)
def test_bad_input_is_one_line(regraft: Run, folder: Path, arguments: list[str], reason: str) -> None:
    (folder / "stranger.json").write_text('{"classes": [{"members": ["a", "x"], "demand": 1}]}')
    (folder / "stranger.csv").write_text("node,topic\nx,t\n")
    assert reason in refused(regraft("evaluate", *arguments))
