"""The demo shows every step as a valid tree, carries the plan out on live brokers without a flaw, and leaves
files that the other commands read."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, answered
from tests.cli.running import PROGRAM

import regraft.plan as planning
from regraft.cli import demo_command, demo_live, demo_scene, demo_traffic
from regraft.cli.demo_ledger import Ledger
from regraft.cli.demo_live import Executor
from regraft.cli.demo_network import distance, hub_tree, latency, network, shortest_tree
from regraft.client import Subscription
from regraft.model import BrokenPlan, Broker
from regraft.model.plan_files import read_plan
from regraft.model.topology_files import read_topology


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """How good the plan is, and how long the traffic lasts, do not matter here."""
    monkeypatch.setattr(demo_command, "SECONDS", 0.2)
    monkeypatch.setattr(demo_scene, "WARM_UP", 0.1)
    monkeypatch.setattr(demo_scene, "BEFORE", 0.1)
    monkeypatch.setattr(demo_live, "BETWEEN", 0.1)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures take seconds; one test has them."""
    monkeypatch.setattr(demo_command, "draw", lambda *_: [])


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
        assert f"  Step {number}  " in result.stdout
    assert result.stdout.count("valid tree: yes") == len(plan.steps)
    assert "12 of 12 new links in place" in result.stdout
    assert "delivered: 0 lost, 0 repeated, 0 reordered" in result.stdout
    assert "the brokers now form the goal: yes" in result.stdout
    assert "no plan has fewer than" in result.stdout
    assert "\x1b" not in result.stdout, "plain text when nobody watches"
    now, goal = read_topology("here/current.json"), read_topology("here/goal.json")
    planning.verify(plan, now, goal)
    for picture in ("plan.svg", "plan.png"):
        assert (folder / "here" / picture).stat().st_size > 1000


@pytest.mark.usefixtures("undrawn")
def test_the_demo_as_json_is_one_object(regraft: Run, folder: Path) -> None:
    answer = answered(regraft("demo", "--json"))
    assert answer["verified"] is True
    assert answer["steps"] == len(answer["plan"])
    assert answer["latency_ms"]["after"] < answer["latency_ms"]["before"]
    assert all(Path(file).is_file() for file in answer["files"])
    assert (folder / "out" / "demo" / "plan.json").is_file()


@pytest.mark.usefixtures("undrawn")
def test_the_live_change_loses_nothing_and_ends_at_the_goal(regraft: Run, folder: Path) -> None:
    live = answered(regraft("demo", "--json"))["live"]
    assert live["lost"] == live["repeated"] == live["reordered"] == live["unwanted"] == 0
    assert live["unacknowledged"] == 0
    assert live["delivered"] == live["due"] > live["published"] > 0
    assert {tuple(pair) for pair in live["links"]} == set(read_topology("out/demo/goal.json").by_ends)
    assert live["goal_reached"] is True
    assert live["shift_ms"] > 0
    assert live["slowest_ms"]["during"] > 0


@pytest.mark.usefixtures("undrawn")
def test_a_delivery_that_is_missing_fails_the_demo(regraft: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    arrived = Ledger.arrived

    def arrived_except_one(ledger: Ledger, subscriber: str, publisher: str, number: int, at: float) -> None:
        if (subscriber, publisher, number) != ("Frankfurt", "London", 3):
            arrived(ledger, subscriber, publisher, number, at)

    monkeypatch.setattr(Ledger, "arrived", arrived_except_one)
    result = regraft("demo")
    assert result.exit_code == 1
    assert "delivered: 1 lost, 0 repeated, 0 reordered" in result.stdout


@pytest.mark.usefixtures("undrawn")
def test_a_message_that_is_never_acknowledged_fails_the_demo(
    regraft: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_traffic, "DRAIN_SECONDS", 0.3)
    monkeypatch.setattr(Subscription, "confirm", lambda subscription: None)
    result = regraft("demo", "--json")
    assert result.exit_code == 1
    live = json.loads(result.stdout)["live"]
    assert live["lost"] == 0
    assert live["unacknowledged"] > 0


def test_an_executor_that_commits_before_preparing_fails_the_demo(
    regraft: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Executor, "prepare", Executor.commit)
    result = regraft("demo", "--json")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "a broker refused its part in change 1: shift(" in result.stderr


def test_the_demo_leaves_nothing_behind_when_interrupted(tmp_path: Path) -> None:
    environment: dict[str, Any] = os.environ | {"TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*PROGRAM, "demo"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert any(line.startswith("  Step 1 ") for line in process.stdout)
        assert list(tmp_path.glob("regraft-demo-*"))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.strip().startswith("regraft: interrupted")
    assert len(said.strip().splitlines()) == 1
    assert not list(tmp_path.glob("regraft-demo-*"))


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
