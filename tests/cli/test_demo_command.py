"""The demo shows every step as a valid tree and leaves files that the other commands read."""

from pathlib import Path

import pytest
from tests.cli.conftest import Run, answered

import regraft.plan as planning
from regraft.cli import demo_command
from regraft.cli.demo_network import distance, hub_tree, latency, network, shortest_tree
from regraft.model import BrokenPlan, Broker
from regraft.model.plan_files import read_plan
from regraft.model.topology_files import read_topology


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """How good the plan is does not matter here."""
    monkeypatch.setattr(demo_command, "SECONDS", 0.2)


def test_the_network_is_real_and_its_trees_span_it() -> None:
    net = network()
    assert (len(net.ids), len(net.links), net.kind) == (33, 48, "mesh")
    now, goal = hub_tree(net), shortest_tree(net)
    assert set(now.ids) == set(goal.ids) == set(net.ids)
    assert set(now.by_ends) | set(goal.by_ends) <= set(net.by_ends)
    assert latency(goal) < latency(now)


def test_the_shortest_tree_is_minimal() -> None:
    nx = pytest.importorskip("networkx")
    net = network()
    graph = nx.Graph()
    graph.add_weighted_edges_from((*link.ends, link.latency_ms) for link in net.links)
    assert latency(shortest_tree(net)) == pytest.approx(nx.minimum_spanning_tree(graph).size("weight"))


def test_distances_are_those_of_the_globe() -> None:
    paris, london = (
        Broker(id, latitude=y, longitude=x) for id, y, x in (("p", 48.857, 2.352), ("l", 51.507, -0.128))
    )
    assert distance(paris, london) == pytest.approx(344, abs=3)


def test_the_demo_replays_every_step_and_writes_its_files(regraft: Run, folder: Path) -> None:
    result = regraft("demo", "--out", "here")
    assert result.exit_code == 0, result.stderr
    plan = read_plan(folder / "here" / "plan.json")
    for number in range(1, len(plan.steps) + 1):
        assert f"Step {number}\n" in result.stdout
    assert result.stdout.count("valid tree: yes") == len(plan.steps)
    assert "12 of 12 new links in place" in result.stdout
    assert "no plan has fewer than" in result.stdout
    assert "\x1b" not in result.stdout, "plain text when nobody watches"
    now, goal = read_topology("here/current.json"), read_topology("here/goal.json")
    planning.verify(plan, now, goal)
    for picture in ("plan.svg", "plan.png"):
        assert (folder / "here" / picture).stat().st_size > 1000


def test_the_demo_as_json_is_one_object(regraft: Run, folder: Path) -> None:
    answer = answered(regraft("demo", "--json"))
    assert answer["verified"] is True
    assert answer["steps"] == len(answer["plan"])
    assert answer["latency_ms"]["after"] < answer["latency_ms"]["before"]
    assert all(Path(file).is_file() for file in answer["files"])
    assert (folder / "out" / "demo" / "plan.json").is_file()


def test_a_plan_that_the_check_refuses_fails_the_demo(regraft: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise BrokenPlan("step 1: not a tree")

    monkeypatch.setattr(planning, "verify", refuse)
    result = regraft("demo", "--json")
    assert result.exit_code == 1
    assert result.stdout == ""


def test_a_folder_that_can_not_be_made_is_bad_input(regraft: Run, folder: Path) -> None:
    result = regraft("demo", "--out", "now.json/here")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "can not be made into a folder" in result.stderr
