"""kTCO's workloads, its printed figures, and the experiment that draws them."""

import csv
from pathlib import Path

import numpy as np
import pytest

from regraft.design import check
from regraft.lab import ktco_figures
from regraft.lab.ktco_trial import OURS, Trial, design, measure, overlay
from regraft.lab.ktco_workload import DISTRIBUTIONS, named, popularity, workload


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_every_node_has_as_many_different_topics_as_asked(distribution: str) -> None:
    matrix = workload(distribution, 50, 20, 6)
    assert (np.diff(matrix.node_start) == 6).all()
    for v in range(50):
        topics = matrix.node_topics[matrix.node_start[v] : matrix.node_start[v + 1]]
        assert len(set(topics.tolist())) == 6
    assert popularity(distribution, 20).sum() == pytest.approx(1)


def test_zipf_falls_with_the_square_of_the_rank() -> None:
    p = popularity("zipf", 100)
    assert p[0] / p[9] == pytest.approx(100)


def test_the_printed_degrees_of_hararypt_come_out() -> None:
    for topics, printed in ((100, 54.22), (1000, 222.84)):
        row = measure(Trial("unif", 800, topics, 30, "HararyPT", 10))
        assert row.degree == pytest.approx(printed, rel=0.02)


@pytest.mark.parametrize(
    ("algorithm", "k"), [("GM", 1), ("GM2", 2), ("CyclePT", 2), ("HararyPT", 3), (OURS, 3)]
)
def test_every_algorithm_of_the_experiment_is_k_topic_connected(algorithm: str, k: int) -> None:
    matrix = workload("zipf", 60, 20, 6)
    assert check(overlay(design(matrix, algorithm, k, 0), 60), named(matrix), k) is None


def test_the_experiment_writes_a_table_and_a_picture_for_each_figure(tmp_path: Path) -> None:
    done = ktco_figures.run(
        tmp_path, nodes=[40], topics=[25], subscriptions=[5], distributions=["unif"], fixed=(40, 30, 6)
    )
    assert done["points"] == 3 * len(ktco_figures.CURVES)
    for name in (
        "figure_3",
        "figure_4",
        "figure_5",
        "figure_6_largest_diameter",
        "figure_8_average_diameter",
    ):
        assert (tmp_path / f"{name}.csv").stat().st_size > 0
        assert (tmp_path / f"{name}_unif.png").stat().st_size > 0
    with (tmp_path / "seed_figures.csv").open(newline="") as file:
        assert next(csv.reader(file)) == ["section", "says", "seed", "measured"]
