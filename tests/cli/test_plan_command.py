"""`regraft plan`: what it prints, writes and draws, and how it ends."""

import json
import os
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import CURRENT, Run, answered, refused

import regraft.plan as planning
from regraft.model import Action, Bounds, Infeasible, Limits, Plan, Topology
from regraft.model.plan_files import read_plan
from regraft.model.topology_files import read_topology
from regraft.plan import verify
from regraft.plan.watch import Watch


def test_the_json_answer_has_the_public_fields(regraft: Run) -> None:
    answer = answered(regraft("plan", "now.json", "goal.json", "--json"))
    assert answer["steps"] == len(answer["plan"]) == 1
    assert answer["actions"] == sum(map(len, answer["plan"])) == 2
    assert answer["planner"] == "fast"
    assert answer["bounds"] == {"steps": 1, "actions": 2}
    assert answer["optimal"] is True
    assert answer["seconds"] >= 0
    assert (answer["proof"], answer["estimated_time"], len(answer["sha256"])) == (None, 2, 64)
    assert answer["initial"] == read_topology("now.json").sha256
    assert sorted(answer["plan"][0]) == [["shift", "a", "b", "c"], ["shift", "e", "d", "c"]]


def test_people_get_a_table_and_a_summary(regraft: Run) -> None:
    result = regraft("plan", "now.json", "goal.json")
    assert result.exit_code == 0
    assert "shift(a, b, c)" in result.stdout
    assert "a-b becomes a-c" in result.stdout
    assert "1 step, 2 actions; no plan has fewer than 1 step, none with 1 step fewer" in result.stdout
    assert "(proven): optimal" in result.stdout
    assert result.stderr == ""


def test_the_written_plan_is_the_answer_and_passes_the_check(regraft: Run, folder: Path) -> None:
    answer = answered(regraft("plan", "now.json", "goal.json", "-o", "plan.json", "--json"))
    plan = read_plan("plan.json")
    assert plan.sha256 == answer["sha256"]
    verify(plan, read_topology("now.json"), read_topology("goal.json"), Limits())


def test_the_same_topology_needs_no_steps(regraft: Run) -> None:
    assert answered(regraft("plan", "now.json", "now.json", "--json"))["plan"] == []
    assert "nothing to do" in regraft("plan", "now.json", "now.json").stdout


def test_brokers_join_and_leave(regraft: Run, folder: Path) -> None:
    other = {"brokers": ["b", "c", "d", "e", "f"], "links": [["b", "c"], ["c", "d"], ["d", "e"], ["e", "f"]]}
    (folder / "other.json").write_text(json.dumps(other))
    answer = answered(regraft("plan", "now.json", "other.json", "--json"))
    actions = [action for step in answer["plan"] for action in step]
    assert ["append", "f", "e"] in actions
    assert ["detach", "a", "b"] in actions


def test_a_degree_limit_in_the_way_is_named_with_the_broker(regraft: Run) -> None:
    result = regraft("plan", "now.json", "goal.json", "--max-degree", "3", "--json")
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert (answer["limit"], answer["where"]) == ("max-degree", "c")
    assert len(result.stderr.splitlines()) == 1
    assert "max-degree" in result.stderr
    assert regraft("plan", "now.json", "goal.json", "--max-degree", "4").exit_code == 0


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_the_picture_is_written(suffix: str, regraft: Run, folder: Path) -> None:
    result = regraft("plan", "now.json", "goal.json", "--draw", f"plan.{suffix}")
    assert result.exit_code == 0
    start = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[suffix]
    assert (folder / f"plan.{suffix}").read_bytes().startswith(start)


def test_a_mesh_changes_by_link_and_unlink_and_stays_connected(regraft: Run) -> None:
    answer = answered(regraft("plan", "ring.json", "crossed.json", "--json"))
    operations = {action[0] for step in answer["plan"] for action in step}
    assert operations == {"link", "unlink"}
    assert answer["kind"] == "mesh"


def test_the_default_planner_may_be_named_for_a_mesh(regraft: Run) -> None:
    assert answered(regraft("plan", "ring.json", "crossed.json", "--planner", "fast", "--json"))["plan"]


def test_a_mesh_keeps_its_topics_connected(regraft: Run, folder: Path) -> None:
    (folder / "interest.csv").write_text("node,topic\n" + "".join(f"{node},t\n" for node in "abcd"))
    options = ["--interest", "interest.csv", "-k", "2", "--json"]
    answer = answered(regraft("plan", "ring.json", "crossed.json", *options))
    assert {action[0] for action in answer["plan"][0]} == {"link"}, "links come before unlinks"
    result = regraft("plan", "ring.json", "crossed.json", *options, "--max-degree", "2")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["limit"]


def test_the_tradeoff_is_listed(regraft: Run) -> None:
    answer = answered(regraft("plan", "now.json", "goal.json", "--pareto", "--json"))
    assert answer["pareto"][0]["sha256"] == answer["sha256"]
    shortest, least = answer["pareto"][0], answer["pareto"][-1]
    assert shortest["steps"] <= least["steps"]
    assert shortest["actions"] >= least["actions"]
    assert "Trade-off" in regraft("plan", "now.json", "goal.json", "--pareto").stdout


def test_the_options_become_the_limits(regraft: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    real = planning.make_plan

    def spy(
        current: Topology, goal: Topology, limits: Limits, planner: str, watch: Watch
    ) -> Plan | Infeasible:
        seen.update(limits=limits, planner=planner, seconds=watch.seconds)
        return real(current, goal, limits, planner, watch)

    monkeypatch.setattr(planning, "make_plan", spy)
    (folder / "costs.json").write_text('{"shift": 2, "append": 9}')
    options = ["--exclusive", "--max-degree=9", "--operations=move, shift", "--threads=1", "--seed=5"]
    options += ["--costs=costs.json", "--cost=append=4", "--time-limit=1.5", "--json"]
    answered(regraft("plan", "now.json", "goal.json", *options))
    limits = seen["limits"]
    assert replace(limits, costs=Limits().costs) == Limits(
        "cost", frozenset({"shift", "move"}), 9, exclusive=True, time_limit=1.5, threads=1, seed=5
    )
    assert limits.costs.by_operation == {"shift": 2, "append": 4}
    assert (seen["planner"], seen["seconds"]) == ("fast", 1.5)


def test_costs_of_actions_are_minimised_and_reported(regraft: Run) -> None:
    answer = answered(regraft("plan", "now.json", "goal.json", "--cost", "shift=3", "--json"))
    assert answer["minimise"] == "cost"
    assert answer["cost"] == 3 * answer["actions"] == 6
    assert answer["estimated_time"] == answer["steps"] * (1 + 3)
    assert answer["optimal"] is True
    assert "cost 6" in regraft("plan", "now.json", "goal.json", "--cost", "shift=3").stdout


def test_an_interrupt_prints_the_best_plan_so_far(regraft: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = planning.make_plan

    def patient(
        current: Topology, goal: Topology, limits: Limits, planner: str, watch: Watch
    ) -> Plan | Infeasible:
        os.kill(os.getpid(), signal.SIGINT)
        while not watch.expired:
            pass
        assert watch.stopped, "the interrupt ends the wait, not the time limit"
        return real(current, goal, limits, planner, Watch(1.0))

    monkeypatch.setattr(planning, "make_plan", patient)
    result = regraft("plan", "now.json", "goal.json", "--time-limit", "600", "--json")
    answer = answered(result)
    assert answer["interrupted"] is True
    assert answer["steps"] == 1
    assert "interrupted" in result.stderr


def test_an_interrupt_with_nothing_found_exits_with_130(
    regraft: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def empty_handed(*arguments: Any) -> Infeasible:
        os.kill(os.getpid(), signal.SIGINT)
        watch = arguments[-1]
        while not watch.expired:
            pass
        return Infeasible("none was found within the limits", limit="time-limit")

    monkeypatch.setattr(planning, "make_plan", empty_handed)
    assert regraft("plan", "now.json", "goal.json", "--time-limit", "600").exit_code == 130


def test_a_second_interrupt_gives_up(regraft: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    release: list[bool] = []

    def deaf(*arguments: Any) -> Infeasible:
        os.kill(os.getpid(), signal.SIGINT)
        while not arguments[-1].stopped:
            pass
        os.kill(os.getpid(), signal.SIGINT)
        while not release:
            pass
        return Infeasible("too late")

    monkeypatch.setattr(planning, "make_plan", deaf)
    result = regraft("plan", "now.json", "goal.json", "--time-limit", "600")
    release.append(True)
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "regraft: interrupted, nothing found yet"
    assert result.stdout == ""


def test_a_fault_of_ours_is_one_line_and_exit_1(regraft: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Plan:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(planning, "make_plan", broken)
    result = regraft("plan", "now.json", "goal.json")
    assert result.exit_code == 1
    assert result.stderr.startswith("regraft: ZeroDivisionError: division by zero")
    assert len(result.stderr.splitlines()) == 1


LONG = "x" * 300 + ".svg"


@pytest.mark.parametrize(
    ("option", "place", "rule"),
    [
        ("-o", "/dev/full", "No space left on device"),
        ("-o", LONG, "File name too long"),
        ("--draw", LONG, "File name too long"),
    ],
)
@pytest.mark.parametrize("json_", [[], ["--json"]])
def test_a_place_that_fails_costs_exit_1_but_not_the_plan(
    option: str, place: str, rule: str, json_: list[str], regraft: Run, folder: Path
) -> None:
    before = sorted(folder.iterdir())
    result = regraft("plan", "now.json", "goal.json", option, place, *json_)
    assert result.exit_code == 1
    assert result.stderr == f"regraft: {place}: cannot be written: {rule}\n"
    assert "shift" in result.stdout
    assert sorted(folder.iterdir()) == before, "no temporary file stays"


def test_a_plan_that_can_not_be_written_leaves_the_picture(regraft: Run, folder: Path) -> None:
    result = regraft("plan", "now.json", "goal.json", "-o", "/dev/full", "--draw", "plan.svg")
    assert result.exit_code == 1
    first, last = result.stderr.splitlines()
    assert first == "picture written to plan.svg"
    assert last.startswith("regraft: /dev/full: ")
    assert (folder / "plan.svg").exists()


def test_the_plan_is_written_even_if_nobody_reads_the_report(folder: Path) -> None:
    program = "from regraft.cli import main; main()"
    command = f"{shlex.quote(sys.executable)} -c '{program}' plan now.json goal.json -o plan.json >/dev/full"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert read_plan("plan.json").steps


def test_the_help_says_when_there_is_json(regraft: Run) -> None:
    text = " ".join(regraft("plan", "--help").stdout.split())
    assert "On success, print one JSON object" in text
    assert "standard output stays empty" in text
    assert refused(regraft("plan", "none.json", "goal.json", "--json")), "and it does"


def test_a_long_plan_is_cut_in_the_table_only(
    regraft: Run, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    back = (Action("shift", ("a", "c", "b")), Action("shift", ("e", "c", "d")))
    there = (Action("shift", ("a", "b", "c")), Action("shift", ("e", "d", "c")))
    steps = (there, back) * 150 + (there,)

    def wander(current: Topology, goal: Topology, *_: Any) -> Plan:
        return Plan("tree", current.sha256, goal.sha256, steps, "fast", Bounds(1, 2))

    monkeypatch.setattr(planning, "make_plan", wander)
    result = regraft("plan", "now.json", "goal.json")
    assert "the first 400 of 602 actions" in result.stdout
    assert "gap 300 steps, 600 actions" in result.stdout
    assert answered(regraft("plan", "now.json", "goal.json", "--json"))["actions"] == 602
    assert regraft("plan", "now.json", "goal.json", "--draw", "long.svg").exit_code == 0


def test_ids_that_do_not_print_are_quoted(regraft: Run, folder: Path) -> None:
    text = json.dumps(CURRENT).replace('"a"', '"[red]\\u001b[31ma"')
    (folder / "odd.json").write_text(text)
    (folder / "odd-goal.json").write_text(
        (folder / "goal.json").read_text().replace('"a"', '"[red]\\u001b[31ma"')
    )
    result = regraft("plan", "odd.json", "odd-goal.json")
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "'[red]\\x1b[31ma'" in result.stdout
