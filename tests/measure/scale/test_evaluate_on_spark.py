"""`regraft evaluate --spark` gives the numbers that it gives without."""

import json
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner
from tests.evaluate.oracle import random_classes, random_tree
from tests.model.measured_tables import add_rows, write_tables

from regraft.cli.entry import main
from regraft.model.topology_files import write_topology
from regraft.model.traffic_files import write_traffic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK = ("--spark", "local[2]")
NUMBERS = ("routing_cost", "link_cost", "broker_cost", "max_degree", "classes")


def evaluated(*arguments: object) -> dict[str, Any]:
    result = CliRunner().invoke(main, ["evaluate", *map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def test_costs_from_spark_are_those_from_memory(spark: "SparkSession", tmp_path: Path) -> None:
    tree, traffic = tmp_path / "tree.json", tmp_path / "traffic.parquet"
    write_topology(random_tree(30, Random(1)), tree)
    write_traffic(random_classes(random_tree(30, Random(1)), 100, Random(2)), traffic)
    here, there = (evaluated(tree, "--traffic", traffic, "--alpha", 2, *more) for more in ((), SPARK))
    assert {name: there[name] for name in NUMBERS} == {name: here[name] for name in NUMBERS}


def test_measured_tables_are_read_from_where_they_are(spark: "SparkSession", tmp_path: Path) -> None:
    tree = random_tree(30, Random(1))
    write_topology(tree, tmp_path / "tree.json")
    classes = random_classes(tree, 100, Random(2))
    rows = [{"members": sorted(each.members), "demand": round(each.demand)} for each in classes]
    write_tables(tmp_path / "tables", {"traffic_classes": rows})
    add_rows(tmp_path / "tables", "traffic_classes", rows)  # of a run that has not committed
    asked = [(place, more) for place in ("tables", "tables/traffic_classes") for more in ((), SPARK)]
    answers = [
        evaluated(tmp_path / "tree.json", "--traffic", tmp_path / place, *more) for place, more in asked
    ]
    assert [answer["routing_cost"] for answer in answers] == [answers[0]["routing_cost"]] * 4
    assert answers[0]["classes"] == 100


def test_without_traffic_there_is_nothing_for_spark(tmp_path: Path) -> None:
    write_topology(random_tree(3, Random(1)), tmp_path / "tree.json")
    result = CliRunner().invoke(main, ["evaluate", str(tmp_path / "tree.json"), "--spark", "local[2]"])
    assert (result.exit_code, "--spark needs --traffic" in result.stderr) == (2, True)
