"""kTCO's workloads, its printed figures, and the experiment that draws them."""

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from regraft.design import check
from regraft.lab import ktco_figures
from regraft.lab.ktco_printed import PRINTED, beside
from regraft.lab.ktco_trial import OURS, Measured, Trial, design, measure, overlay
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


def small(out: Path) -> Mapping[Trial, Measured]:
    return ktco_figures.figures(
        out, nodes=[40], topics=[25], subscriptions=[5], distributions=["unif"], fixed=(40, 30, 6), repeats=1
    )


def test_the_experiment_writes_a_table_and_a_picture_for_each_figure(tmp_path: Path) -> None:
    rows = small(tmp_path)
    assert len(rows) == 3 * len(ktco_figures.CURVES)
    assert all(rows[trial].largest_diameter for trial in rows if trial.nodes == 40 and trial.topics == 30
               and trial.subscriptions == 6 and trial.algorithm in ("GM", "GM2"))  # fmt: skip
    for number in (3, 4, 5, 6, 8):
        assert (tmp_path / f"figure_{number}.png").stat().st_size > 10_000
    for name in ("figure_3", "figure_4", "figure_5", "figures_6_and_8", "runs"):
        assert (tmp_path / f"{name}.csv").read_text().count("\n") > 3
    with (tmp_path / "seed_figures.csv").open(newline="") as file:
        assert next(csv.reader(file)) == ["figure", "section", "says", "seed", "measured"]
        assert len(list(file)) == len(PRINTED)


def test_an_interrupted_experiment_continues_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Trial] = []

    def counted(trial: Trial, diameters: bool = False) -> Measured:
        if len(asked) == 5:
            raise KeyboardInterrupt
        asked.append(trial)
        return measure(trial, diameters)

    monkeypatch.setattr(ktco_figures, "measure", counted)
    with pytest.raises(KeyboardInterrupt):
        small(tmp_path)
    unfinished = tmp_path / ktco_figures.UNFINISHED
    unfinished.write_text(unfinished.read_text()[:-4])  # killed in the middle of a line
    again: list[Trial] = []

    def noted(trial: Trial, diameters: bool = False) -> Measured:
        again.append(trial)
        return measure(trial, diameters)

    monkeypatch.setattr(ktco_figures, "measure", noted)
    rows = small(tmp_path)
    assert asked[-1] == again[0]
    assert len(again) == len(rows) - 4
    assert not unfinished.exists()


def test_what_ktco_prints_is_computed_from_the_rows_of_its_figure() -> None:
    def row(degree: float, far: int = 0) -> Measured:
        return Measured(1, degree, 0.0, far, far / 2)

    rows = {
        Trial("unif", 1000, 200, 30, "GM", 1): row(4, 20),
        Trial("unif", 1000, 200, 30, "GM2", 2): row(6, 8),
        Trial("unif", 1000, 200, 30, "CyclePT", 2): row(30),
        Trial("unif", 1000, 200, 30, "HararyPT", 4): row(24),
        Trial("unif", 1000, 200, 30, "HararyPT", 5): row(40),
        Trial("unif", 1000, 200, 30, "HararyPT", 6): row(32),
        Trial("unif", 800, 100, 30, "HararyPT", 10): row(54),
    }
    found = {(each.printed.figure, each.printed.says): each.measured for each in beside(rows)}
    assert found[3, "degree of GM2 / GM: below"] == 1.5
    assert found[3, "degree of CyclePT / GM2: about"] == 5
    assert found[3, "k up to which HararyPT has fewer links than CyclePT, Unif"] == pytest.approx(5.5)
    assert found[4, "degree of HararyPT, k = 10, |T| = 100, Unif"] == 54
    assert found[6, "Diam of GM2 / GM, Unif"] == 0.4
    assert found[6, "average diameter of GM - GM2, |V| = 1000, Unif"] == 6
    assert found[4, "degree of GM2 / GM: at most"] is None
