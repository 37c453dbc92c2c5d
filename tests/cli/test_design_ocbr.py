"""`regraft design ocbr` as a user meets it: files in, a tree out, faults in one line."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, refused

from regraft.model.topology_files import read_topology

TRAFFIC = {
    "classes": [
        {"members": ["a", "e"], "demand": 10},
        {"members": ["a", "c", "e"], "demand": 4},
        {"members": ["b", "d"], "demand": 1},
    ]
}
NETWORK: dict[str, Any] = {
    "kind": "mesh",
    "brokers": ["a", "b", "c", "d", "e"],
    "links": [
        ["a", "b"],
        ["b", "c"],
        ["c", "d"],
        ["d", "e"],
        {"ends": ["a", "e"], "cost": 2},
        {"ends": ["c", "e"], "cost": 1},
    ],
}


@pytest.fixture(autouse=True)
def files(folder: Path) -> Path:
    (folder / "traffic.json").write_text(json.dumps(TRAFFIC))
    (folder / "network.json").write_text(json.dumps(NETWORK))
    return folder


def answer(result: Any) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


BOTH = ("--traffic", "traffic.json", "--topology", "now.json")
ALL = (*BOTH, "--network", "network.json")


def test_a_small_network_gets_the_proven_best_tree(regraft: Run) -> None:
    found = answer(regraft("design", "ocbr", *ALL, "--json"))
    assert (found["optimal"], found["valid"], found["method"], found["gap"]) == (True, True, "exact", 0.0)
    # now: a-e 4 links 5 brokers, the class of three the same, b-d 2 links 3 brokers
    assert found["before"]["routing_cost"] == 10 * 9 + 4 * 9 + 1 * 5
    assert found["routing_cost"] == found["link_cost"] + found["broker_cost"] == found["bound"]
    assert found["routing_cost"] < found["before"]["routing_cost"]
    assert ["a", "e"] in found["links"]
    assert found["edges"] == 4
    saves = sum(each["saves"] for each in found["exchanges"])
    assert found["before"]["routing_cost"] - saves == pytest.approx(found["routing_cost"])
    assert found["shifts"] == sum(each["shifts"] for each in found["exchanges"])


def test_the_tree_is_written_drawn_and_explained(regraft: Run, folder: Path) -> None:
    result = regraft("design", "ocbr", *ALL, "-o", "better.json", "--draw", "both.svg")
    assert result.exit_code == 0, result.output
    assert "What the links were worth" in result.stdout
    assert "proven best" in result.stdout
    better = read_topology(folder / "better.json")
    assert better.kind == "tree"
    assert better.by_ends["a", "e"].cost == 2
    assert (folder / "both.svg").read_text().startswith("<?xml")
    plan = regraft("plan", "now.json", "better.json", "--json")
    assert plan.exit_code == 0, plan.output


def test_without_a_network_every_pair_is_possible_and_without_a_tree_one_is_made(regraft: Run) -> None:
    free = answer(regraft("design", "ocbr", *BOTH, "--json"))
    bound = answer(regraft("design", "ocbr", *ALL, "--json"))
    assert free["routing_cost"] <= bound["routing_cost"]
    fresh = answer(
        regraft("design", "ocbr", "--traffic", "traffic.json", "--network", "network.json", "--json")
    )
    assert fresh["routing_cost"] == bound["routing_cost"]


@pytest.mark.parametrize("method", ["global", "neighbourhoods", "exact"])
def test_every_method_answers_and_a_budget_holds(regraft: Run, method: str) -> None:
    found = answer(regraft("design", "ocbr", *ALL, "--method", method, "--moves", "2000", "--json"))
    assert found["routing_cost"] <= found["before"]["routing_cost"]
    for budget in (0, 1):
        short = answer(
            regraft(
                "design", "ocbr", *ALL, "--method", method, "--moves", "500", "--budget", budget, "--json"
            )
        )
        assert short["shifts"] <= budget
        assert found["routing_cost"] <= short["routing_cost"] <= found["before"]["routing_cost"]


def test_alpha_and_beta_weigh_links_and_brokers(regraft: Run) -> None:
    links = answer(regraft("design", "ocbr", *ALL, "--beta", "0", "--json"))
    assert links["routing_cost"] == links["link_cost"]
    brokers = answer(regraft("design", "ocbr", *ALL, "--alpha", "0", "--beta", "3", "--json"))
    assert brokers["routing_cost"] == 3 * brokers["broker_cost"]


def test_no_traffic_leaves_the_tree_as_it_is(regraft: Run, folder: Path) -> None:
    (folder / "traffic.json").write_text('{"classes": []}')
    found = answer(regraft("design", "ocbr", *ALL, "--json"))
    assert (found["routing_cost"], found["shifts"], found["saved"]) == (0, 0, 0)


def changed(**more: Any) -> dict[str, Any]:
    return NETWORK | more


@pytest.mark.parametrize(
    ("file", "document", "said"),
    [
        ("traffic.json", {"classes": [{"members": ["a", "z"], "demand": 1}]},
         "traffic.json: classes[0].members: unknown broker id 'z'"),
        ("traffic.json", {"classes": [{"members": [], "demand": 1}]},
         "traffic.json: classes[0].members: a traffic class needs at least one member"),
        ("traffic.json", {"classes": [{"members": ["a"], "demand": -1}]},
         "traffic.json: classes[0].demand: must be a finite number at least 0, not -1"),
        ("network.json", changed(links=[["a", "b"], ["c", "d"], ["d", "e"]]),
         "network.json: the possible links do not join all brokers: no path from 'a' to 'c'"),
        ("network.json", changed(links=[{"ends": ["a", "b"], "cost": -2}]),
         "network.json: links[0].cost: must be a finite number at least 0, not -2"),
        ("network.json", changed(links=[["a", "b"], ["a", "c"], ["a", "d"], ["a", "e"]]),
         "network.json: the topology's link 'b' - 'c' is not among the possible links"),
        ("network.json", changed(brokers=[*"abcdef"], links=[*NETWORK["links"], ["e", "f"]]),
         "network.json: broker 'f' is not in the topology"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_in_one_line(
    regraft: Run, folder: Path, file: str, document: dict[str, Any], said: str
) -> None:
    (folder / file).write_text(json.dumps(document))
    assert refused(regraft("design", "ocbr", *ALL, "--json")) == said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--traffic", "traffic.json"), "--topology: give the tree as it is now, or a --network"),
        (("--traffic", "traffic.json", "--topology", "ring.json"), "a tree is needed, this is a mesh"),
        ((*ALL, "--alpha", "-1"), "--alpha: must be a finite number at least 0, not -1.0"),
        ((*ALL, "--beta", "nan"), "--beta: must be a finite number at least 0, not nan"),
        ((*ALL, "--budget", "-1"), "Invalid value for '--budget'"),
        ((*ALL, "--method", "magic"), "Invalid value for '--method'"),
        ((*ALL, "--time-limit", "0"), "not a finite number of seconds above 0"),
        ((*ALL, "--draw", "picture.txt"), "the name of a picture must end in"),
        ((*ALL, "-o", "traffic.json"), "-o would overwrite an input"),
        (("--traffic", "none.json", "--topology", "now.json"), "none.json: there is no such file"),
        (
            ("--traffic", "traffic.json", "--network", "network.json", "--budget", "3"),
            "--budget: counts shifts",
        ),
        (("--topology", "now.json"), "Missing option '--traffic'"),
    ],
)
def test_wrong_use_is_refused_in_one_line(regraft: Run, options: tuple[str, ...], said: str) -> None:
    assert said in refused(regraft("design", "ocbr", *options))
