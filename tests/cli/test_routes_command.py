"""`regraft routes`: figures as JSON, pictures, tables, and one line for everything that is wrong."""

import json
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from regraft.cli.entry import main

SQUARE = {"switches": ["a", "b", "c", "d"], "cables": [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"]]}
WORK: dict[str, Any] = {
    "publishers": [{"id": "p", "switch": "a", "rate": 8, "advertisement": "0"}],
    "subscribers": [
        {"id": "t", "switch": "c", "subscription": "00"},
        {"id": "u", "switch": "b", "subscription": ["01"]},
    ],
}


@pytest.fixture
def run(tmp_path: Path) -> Any:
    def run_with(network: Any = SQUARE, work: Any = WORK, *options: str, config: Any = None) -> Result:
        (tmp_path / "net.json").write_text(json.dumps(network))
        (tmp_path / "work.json").write_text(json.dumps(work))
        arguments = [
            "routes",
            str(tmp_path / "net.json"),
            "--workload",
            str(tmp_path / "work.json"),
            *options,
        ]
        if config is not None:
            (tmp_path / "config.json").write_text(json.dumps(config))
            arguments += ["--config", str(tmp_path / "config.json")]
        return CliRunner().invoke(main, arguments)

    return run_with


def test_json_has_the_figures_and_seconds(run: Any) -> None:
    result = run(SQUARE, WORK, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["data_rate"] == 4.0 + 8.0
    assert found["gap"] == 0.0
    assert found["false_positives"] == 0.0
    assert found["longest_path"] == 2
    assert found["shortest_path_trees"]["data_rate"] == 12.0
    assert {"paths", "subgraph", "tables"} <= found["seconds"].keys()


def test_a_person_gets_a_table_and_files(run: Any, tmp_path: Path) -> None:
    result = run(SQUARE, WORK, "--draw", str(tmp_path / "r.svg"), "-o", str(tmp_path / "tables.json"))
    assert result.exit_code == 0, result.stderr
    assert "4 switches, 1 publishers, 2 subscribers" in result.stdout
    assert (tmp_path / "r.svg").read_text().startswith("<?xml")
    tables = json.loads((tmp_path / "tables.json").read_text())["tables"]
    assert tables["c"] == [{"dz": "00", "publisher": None, "out": [], "deliver": ["t"]}]


def test_components_are_chosen_by_the_config(run: Any) -> None:
    config = {"subgraph": "combination", "clustering": "prefix", "matching": "publisher", "rings": -1}
    found = json.loads(run(SQUARE, WORK, "--json", config=config).stdout)
    assert found["matching"] == "publisher"
    assert found["data_rate"] == 12.0


def test_processes_share_the_work_and_give_the_same_figures(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = []

    class Counting(ProcessPoolExecutor):
        def submit(self, *given: Any, **named: Any) -> Any:
            sent.append(given)
            return super().submit(*given, **named)

    monkeypatch.setattr("regraft.routes.parallel.ProcessPoolExecutor", Counting)
    work = {**WORK, "publishers": [*WORK["publishers"], {**WORK["publishers"][0], "id": "q", "switch": "c"}]}
    config = {"subgraph": "combination", "selection": "rings", "matching": "publisher"}
    both = json.loads(run(SQUARE, work, "--json", "--processes", "2", config=config).stdout)
    assert sent
    sent.clear()
    alone = json.loads(run(SQUARE, work, "--json", config=config).stdout)
    assert not sent
    assert {**both, "seconds": 0} == {**alone, "seconds": 0}


def test_small_networks_are_compared_with_the_global_optimum(run: Any) -> None:
    ring = [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"]]
    work = {**WORK, "subscribers": [{"id": "t", "switch": "c", "subscription": "0"}]}
    best = json.loads(run({"switches": list("abcd"), "cables": ring}, work, "--json").stdout)
    assert (best["least_cost"], best["above_least"]) == (16.0, 0.0)
    # Three shortest paths of weight 2 where one tree over m costs 4.
    star = [["a", "m"], *(["m", each] for each in "xyz")]
    heavy = [{"ends": ["a", each], "weight": 2} for each in "xyz"]
    spread = [{"id": each, "switch": each, "subscription": "0"} for each in "xyz"]
    config = {"subgraph": "balanced", "balance": 1.001, "matching": "publisher"}
    document = {"switches": ["a", "x", "y", "z", "m"], "cables": [*heavy, *star]}
    found = json.loads(run(document, {**WORK, "subscribers": spread}, "--json", config=config).stdout)
    assert found["least_cost"] == 8 * 4
    assert found["above_least"] == pytest.approx(found["cost"] / 32 - 1)


def test_large_networks_are_not(run: Any) -> None:
    names = [f"r{number}" for number in range(60)]
    document = {"switches": names, "cables": [[a, b] for a, b in pairwise(names)]}
    work = {
        "publishers": [{"id": "p", "switch": "r0", "rate": 8, "advertisement": "0"}],
        "subscribers": [{"id": "t", "switch": "r59", "subscription": "0"}],
    }
    found = json.loads(run(document, work, "--json").stdout)
    assert (found["least_cost"], found["above_least"]) == (None, None)


@pytest.mark.parametrize(
    ("network", "work", "config", "message"),
    [
        ({"switches": ["a", "b"], "cables": []}, WORK, None, "disconnected: no path leads from 'a' to 'b'"),
        (SQUARE, {**WORK, "dz_length": 1}, None, "the address block has 1"),
        (SQUARE, {**WORK, "publishers": WORK["publishers"] * 2}, None, "the id 'p' is given twice"),
        (SQUARE, {**WORK, "subscribers": [{"id": "t", "switch": "x", "subscription": "0"}]}, None, "'x'"),
        ({**SQUARE, "cables": [{"ends": ["a", "b"], "weight": -1}]}, WORK, None, "cables[0].weight"),
        (SQUARE, WORK, {"subgraph": "magic"}, "unknown component 'magic'"),
        (SQUARE, WORK, {"colour": "red"}, "unknown setting"),
        (SQUARE, WORK, {"matching": "all"}, "'publisher' or 'filter'"),
        (SQUARE, WORK, {"rebalance_when": "never"}, "'limits' or 'always'"),
        (SQUARE, WORK, {"centres": 0}, "centres"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    run: Any, network: Any, work: Any, config: Any, message: str
) -> None:
    result = run(network, work, "--json", config=config)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"path_length": 1}, "subscriber t is 2 edges from publisher p"),
        ({"load": 5}, "switch a must carry 8"),
        ({"flows_at": {"c": 0}}, "switch c"),
    ],
)
def test_limits_that_leave_no_routes_are_an_answer_of_exit_code_1(
    run: Any, limits: dict[str, Any], message: str
) -> None:
    result = run(SQUARE, {**WORK, "limits": limits}, "--json")
    assert result.exit_code == 1
    assert result.stderr.startswith("regraft: there are no routes: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_a_picture_of_unknown_kind_is_refused_before_the_work(run: Any, tmp_path: Path) -> None:
    result = run(SQUARE, WORK, "--draw", str(tmp_path / "r.bmp"))
    assert result.exit_code == 2
    assert ".svg, .png, .pdf" in result.stderr


def test_installing_needs_to_know_where_the_switches_are(run: Any, tmp_path: Path) -> None:
    (tmp_path / "switches.json").write_text(json.dumps({"switches": {"a": "tcp:127.0.0.1:6653"}}))
    result = run(SQUARE, WORK, "--install", str(tmp_path / "switches.json"))
    assert result.exit_code == 2
    assert "does not say where switch 'b' is" in result.stderr
