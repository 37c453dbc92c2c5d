import csv
from pathlib import Path

import pytest

from regraft.lab import EXPERIMENTS, ipitt_planning
from regraft.lab.records import Records
from regraft.lab.trial import Measurement, Trial


class Bench:
    """Stands in for the processes: counts what was run, and solves sizes up to a limit."""

    def __init__(self, largest: dict[str, int]) -> None:
        self.largest = largest
        self.ran: list[Trial] = []

    def measure(self, trial: Trial) -> Measurement:
        self.ran.append(trial)
        if trial.size > self.largest.get(trial.planner, 10**6):
            return Measurement("out of time", peak_mb=100.0)
        return Measurement("found", 1.5, 0.5, trial.size // 4, trial.size // 2, 1, 1, True, 50.0)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench({"best-first": 8})
    monkeypatch.setattr(ipitt_planning, "measure", bench.measure)
    return bench


def table(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def run(out: Path, **options: object) -> dict[str, int]:
    defaults: dict[str, object] = {"ratios": (), "topologies": 2, "planners": ("fast", "best-first")}
    return EXPERIMENTS["ipitt-planning"].run(out, **(defaults | options))


def test_a_second_run_measures_only_what_is_new(tmp_path: Path, bench: Bench) -> None:
    run(tmp_path, sizes=(8,))
    assert len(bench.ran) == 4
    run(tmp_path, sizes=(8,))
    assert len(bench.ran) == 4
    run(tmp_path, sizes=(6, 8), planners=("fast",))
    assert [(trial.planner, trial.size) for trial in bench.ran[4:]] == [("fast", 6)] * 2


def test_another_time_limit_is_another_run(tmp_path: Path, bench: Bench) -> None:
    run(tmp_path, sizes=(8,), planners=("best-first",), time_limit=5.0)
    run(tmp_path, sizes=(8,), planners=("best-first",), time_limit=50.0)
    assert [trial.time_limit for trial in bench.ran] == [5.0, 5.0, 50.0, 50.0]


def test_a_planner_that_solves_nothing_at_one_size_is_not_tried_at_larger_ones(
    tmp_path: Path, bench: Bench
) -> None:
    counts = run(tmp_path, sizes=(16, 8, 12))
    assert counts == {"found": 8, "out of time": 2, "not tried": 2}
    tried = [(trial.planner, trial.size) for trial in bench.ran]
    assert ("best-first", 12) in tried
    assert ("best-first", 16) not in tried
    assert ("fast", 16) in tried
    statuses = {
        trial.size: row.status
        for trial, row in Records(tmp_path / "runs.csv", Trial, Measurement).rows.items()
        if trial.planner == "best-first"
    }
    assert statuses == {8: "found", 12: "out of time", 16: "not tried"}


def test_the_tables_show_what_was_solved_and_why_the_rest_was_not(tmp_path: Path, bench: Bench) -> None:
    run(tmp_path, sizes=(8, 12))
    rows = {(row["planner"], row["size"]): row for row in table(tmp_path / "figure_5c.csv")}
    assert rows["fast", "12"]["mean_steps"] == "3"
    assert rows["best-first", "12"]["solved"] == "0"
    assert rows["best-first", "12"]["unsolved_because"] == "out of time"


def test_every_figure_is_a_table_and_a_picture(tmp_path: Path, bench: Bench) -> None:
    run(tmp_path, sizes=(8, 12), ratios=(10, 20))
    for name in "abcdef":
        assert table(tmp_path / f"figure_5{name}.csv")
        assert (tmp_path / f"figure_5{name}.png").read_bytes().startswith(b"\x89PNG")


def test_sweeps_meet_at_60_brokers_and_20_percent(tmp_path: Path, bench: Bench) -> None:
    run(tmp_path, sizes=(60,), ratios=(20, 30), planners=("fast",))
    assert [(trial.size, trial.change) for trial in bench.ran] == [(60, 20)] * 2 + [(60, 30)] * 2


def test_table_1_counts_the_actions_of_the_seeds_program(tmp_path: Path, bench: Bench) -> None:
    run(tmp_path, sizes=(60,), planners=("ip-each-path", "best-first"), topologies=1)
    each_path, best_first = table(tmp_path / "table_1.csv")
    assert each_path["seed_actions"] == "1860"
    assert each_path["T"] == "15"
    assert 500 < float(each_path["actions"]) < 10_000
    assert float(each_path["variables"]) == float(each_path["actions"]) * 15 + 5 * 60 * 59 * 16
    assert (each_path["memory_mb"], best_first["memory_mb"]) == ("50", "100")
    assert best_first["actions"] == ""


def test_the_seeds_printed_figures_stand_beside_ours(tmp_path: Path, bench: Bench) -> None:
    run(tmp_path, sizes=(8, 12))
    rows = table(tmp_path / "seed_figures.csv")
    found = next(row for row in rows if row["planner"] == "best-first" and "largest" in row["quantity"])
    assert (found["seed"], found["measured"]) == ("90", "8")
    assert all(row["section"].startswith("IPITT §") for row in rows)
    assert sum(row["figure"] == "Table I" for row in rows) == 13


def test_every_option_is_read_from_text_into_what_the_run_takes(tmp_path: Path, bench: Bench) -> None:
    given = {
        "time_limit": "5",
        "sizes": "8,10",
        "ratios": "",
        "topologies": "1",
        "planners": "fast-first, best-first",
    }
    experiment = EXPERIMENTS["ipitt-planning"]
    options = {option.name: option.parse(given[option.name]) for option in experiment.options}
    assert options.keys() == given.keys()
    experiment.run(tmp_path, **options)
    assert {(trial.planner, trial.size, trial.time_limit) for trial in bench.ran} == {
        (planner, size, seconds)
        for size in (8, 10)
        for planner, seconds in (("fast", 0.0), ("best-first", 5.0))
    }
