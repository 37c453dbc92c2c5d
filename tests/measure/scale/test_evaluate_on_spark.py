"""`regraft evaluate --spark` gives the numbers that it gives without."""

import json
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner
from tests.evaluate.oracle import random_classes, random_tree

from regraft.cli.entry import main
from regraft.model.topology_files import write_topology
from regraft.model.traffic_files import write_traffic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    here, there = (
        evaluated(tree, "--traffic", traffic, "--alpha", 2, *more) for more in ((), ("--spark", "local[2]"))
    )
    assert {name: there[name] for name in NUMBERS} == {name: here[name] for name in NUMBERS}


def test_without_traffic_there_is_nothing_for_spark(tmp_path: Path) -> None:
    write_topology(random_tree(3, Random(1)), tmp_path / "tree.json")
    result = CliRunner().invoke(main, ["evaluate", str(tmp_path / "tree.json"), "--spark", "local[2]"])
    assert (result.exit_code, "--spark needs --traffic" in result.stderr) == (2, True)
