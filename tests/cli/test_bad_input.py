"""Bad input: exit code 2 and one line with the file, the place and the rule."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import CURRENT, Run, refused

import regraft.plan as planning
from regraft.model import files

TREES = {
    "a cycle": (
        {"brokers": ["a", "b", "c"], "links": [["a", "b"], ["b", "c"], ["a", "c"]]},
        "links[2]: the link 'a' - 'c' closes a cycle, a tree has none",
    ),
    "not connected": (
        {"brokers": ["a", "b", "c"], "links": [["a", "b"]]},
        "links: not a tree: no path joins 'a' and 'c'",
    ),
    "an unknown id": (
        {"brokers": ["a", "b"], "links": [["a", "z"]]},
        "links[0]: unknown broker id 'z'",
    ),
    "a duplicate link": (
        {"brokers": ["a", "b"], "links": [["a", "b"], ["b", "a"]]},
        "links[1]: the link 'a' - 'b' is given twice",
    ),
    "a self-loop": (
        {"brokers": ["a", "b"], "links": [["a", "b"], ["b", "b"]]},
        "links[1]: a link must join two brokers, this one joins 'b' to itself",
    ),
    "a number as id": (
        {"brokers": ["a", 7], "links": []},
        "brokers[1]: a broker id must be a string, not a number (7)",
    ),
}


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("name", TREES)
def test_a_broken_tree_is_refused(name: str, position: int, regraft: Run, folder: Path) -> None:
    document, rule = TREES[name]
    (folder / "bad.json").write_text(json.dumps(document))
    given = ["bad.json", "goal.json"] if position == 0 else ["now.json", "bad.json"]
    assert refused(regraft("plan", *given)) == f"bad.json: {rule}"


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        ("bad.json", "", "bad.json: the file is empty"),
        ("bad.json", '{"brokers": [\n"a",]}', "bad.json: line 2 column 5: not JSON: "),
        (
            "bad.graphml",
            "<graphml>\n<graph></graphml>",
            "bad.graphml: line 2 column 10: not XML: mismatched tag",
        ),
        ("bad.gml", "graph [ node [", "bad.gml: line 1: not GML: the text ends before a value or a bracket"),
        ("bad.txt", "hello", "bad.txt: line 1: neither JSON, GraphML nor GML"),
    ],
)
def test_a_broken_file_is_refused(file: str, content: str, expected: str, regraft: Run, folder: Path) -> None:
    (folder / file).write_text(content)
    assert refused(regraft("plan", file, "goal.json")).startswith(expected)
    assert refused(regraft("plan", "now.json", file, "--json")).startswith(expected)


def test_a_missing_file_and_a_folder_are_refused(regraft: Run, folder: Path) -> None:
    assert refused(regraft("plan", "none.json", "goal.json")) == "none.json: there is no such file"
    assert refused(regraft("plan", ".", "goal.json")) == ".: a file is needed, this is a folder"


def test_a_huge_file_is_refused(regraft: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SIZE_LIMIT", 20)
    assert refused(regraft("plan", "now.json", "goal.json")).startswith("now.json: larger than")


def test_brokers_that_differ_need_append_and_detach(regraft: Run, folder: Path) -> None:
    more = {"brokers": [*CURRENT["brokers"], "f"], "links": [*CURRENT["links"], ["e", "f"]]}
    (folder / "more.json").write_text(json.dumps(more))
    rule = "broker 'f' is not in the other file, and {} is not among the --operations"
    joins = refused(regraft("plan", "now.json", "more.json", "--operations", "shift,detach"))
    assert joins == f"more.json: {rule.format('append')}"
    leaves = refused(regraft("plan", "more.json", "now.json", "--operations", "shift,append"))
    assert leaves == f"more.json: {rule.format('detach')}"


def test_a_tree_and_a_mesh_have_no_plan_between_them(regraft: Run) -> None:
    line = refused(regraft("plan", "now.json", "ring.json"))
    assert line.startswith("ring.json: this is a mesh and the other file a tree: links[3]: ")
    assert "closes a cycle" in line
    assert refused(regraft("plan", "ring.json", "crossed.json", "--kind", "tree")).startswith(
        "ring.json: links[3]"
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", "costs.json: line 1 column 2: not JSON"),
        ('{"shfit": 1}', "costs.json: 'shfit': unknown operation"),
        ('{"shift": -1}', "costs.json: shift: must be a whole number from 0"),
        (
            '{"actions": [{"action": ["shift", "a", "b", "z"], "cost": 1}]}',
            "costs.json: the cost of shift(a, b, z): unknown broker id 'z'",
        ),
    ],
)
def test_broken_costs_are_refused(content: str, expected: str, regraft: Run, folder: Path) -> None:
    (folder / "costs.json").write_text(content)
    assert refused(regraft("plan", "now.json", "goal.json", "--costs", "costs.json")).startswith(expected)


def test_broken_interest_is_refused(regraft: Run, folder: Path) -> None:
    (folder / "interest.csv").write_text("node,topic\na,t\nz,t\n")
    options = ["--interest", "interest.csv"]
    expected = "interest.csv: topic 't': unknown broker id 'z'"
    assert refused(regraft("plan", "ring.json", "crossed.json", *options)) == expected
    assert "for meshes" in refused(regraft("plan", "now.json", "goal.json", *options))


@pytest.mark.parametrize("files", [("now.json", "goal.json"), ("ring.json", "crossed.json")])
@pytest.mark.parametrize("k", ["1", "2"])
def test_k_without_interest_is_refused(files: tuple[str, str], k: str, regraft: Run) -> None:
    expected = "-k: is about the topics of --interest, which is not given"
    assert refused(regraft("plan", *files, "-k", k)) == expected


@pytest.mark.parametrize(
    "options",
    [
        ["--planner", "exact"],
        ["--operations", "shift,append,detach"],
        ["--cost", "shift=2"],
        ["--costs", "costs.json"],
        ["--pareto"],
    ],
)
def test_what_is_for_trees_is_refused_for_meshes(options: list[str], regraft: Run) -> None:
    line = refused(regraft("plan", "ring.json", "crossed.json", *options))
    assert line == f"ring.json: {options[0]} is for trees, this is a mesh"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--planner", "magic"], "'magic' is not one of fast, "),
        (["--operations", "shift,jump"], "'jump' is not one of shift, append, detach, move"),
        (["--minimise", "joy"], "'joy' is not one of"),
        (["--max-degree", "0"], "--max-degree"),
        (["--max-degree", "1000000001"], "--max-degree"),
        (["--max-degree", "9" * 5000], "--max-degree"),
        (["--time-limit", "nan"], "--time-limit"),
        (["--time-limit", "-1"], "--time-limit"),
        (["--time-limit", "soon"], "--time-limit"),
        (["--threads", "0"], "--threads"),
        (["--cost", "shift"], "'shift' is not OPERATION=N"),
        (["--cost", "jump=2"], "'jump=2' is not OPERATION=N"),
        (["--cost", "shift=1000000001"], "'shift=1000000001' is not OPERATION=N"),
        (["--cost", "shift=" + "9" * 5000], "... is not OPERATION=N"),
        (["--colour"], "--colour"),
        (["-o", "none/plan.json"], "none/plan.json: cannot be written: there is no folder none"),
        (["-o", "."], ".: cannot be written: this is a folder"),
        (["-o", "-"], "-: -o needs the name of a file; --json prints the plan on standard output"),
        (["-o", "now.json"], "now.json: -o would overwrite an input"),
        (["-o", "sub/../goal.json"], "sub/../goal.json: -o would overwrite an input"),
        (["-o", "link.json"], "link.json: -o would overwrite an input"),
        (["-o", "c.svg", "--costs", "c.svg"], "c.svg: -o would overwrite an input"),
        (["--draw", "i.svg", "--interest", "i.svg"], "i.svg: --draw would overwrite an input"),
        (["-o", "p.svg", "--draw", "./p.svg"], "p.svg: --draw would overwrite what -o writes"),
        (["--draw", "plan.txt"], "plan.txt: the name of a picture must end in .svg, .png, .pdf"),
        (["extra"], "extra"),
    ],
)
def test_wrong_options_are_refused_in_one_line(
    options: list[str], expected: str, regraft: Run, folder: Path
) -> None:
    (folder / "sub").mkdir()
    (folder / "link.json").symlink_to("now.json")
    assert expected in refused(regraft("plan", "now.json", "goal.json", *options))


def test_too_many_brokers_for_a_picture_are_refused_before_planning(
    regraft: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "make_plan", lambda *_: pytest.fail("planned"))
    brokers = [f"b{number}" for number in range(401)]
    for name, centre in (("big.json", "b0"), ("big-goal.json", "b1")):
        links = [[centre, broker] for broker in brokers if broker != centre]
        (folder / name).write_text(json.dumps({"brokers": brokers, "links": links}))
    line = refused(regraft("plan", "big.json", "big-goal.json", "--draw", "big.svg"))
    assert line.startswith("big.svg: a picture of more than 400 brokers")


LONG = " AND ".join(f"a{number} = 1" for number in range(20)) + " AND AND b = 2"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["sub", "temp > > 3"], "FILTER 'temp > > 3': position 8, at '> 3': found '>', expected "),
        (["sub", "temp >"], "FILTER 'temp >': position 7, at the end: found the end, expected "),
        (
            ["pub", "a=1", "--advertise", "a = 'x"],
            """--advertise "a = 'x": position 5, at "'x": the string""",
        ),
        (
            ["sub", LONG],
            "FILTER '…ND a17 = 1 AND a18 = 1 AND a19 = 1 AND AND b = 2': position 231, at ",
        ),
    ],
)
def test_a_broken_filter_is_shown_with_the_place_and_the_rule(
    arguments: list[str], expected: str, regraft: Run
) -> None:
    assert refused(regraft(*arguments)).startswith(expected)


@pytest.mark.parametrize(
    "arguments", [["plan"], ["plan", "now.json"], ["fly"], ["--fly"], ["lab", "no-such"]]
)
def test_wrong_use_is_refused_in_one_line(arguments: list[str], regraft: Run) -> None:
    assert "--help)" in refused(regraft(*arguments))


def test_the_process_itself_exits_with_2_and_no_traceback(folder: Path) -> None:
    (folder / "bad.json").write_text("[" * 100_000)
    command = [sys.executable, "-c", "from regraft.cli import main; main()", "plan", "bad.json", "goal.json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr == "regraft: bad.json: not readable: lists and objects are nested too deeply\n"
