from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks import _plan_parts as parts
from benchmarks._plan_parts import Bench

from regraft.lab.records import Records
from regraft.lab.trial import Measurement, Trial

Answer = Callable[[Trial], Measurement]


def found(seconds: float, steps: int = 5, proven: bool = True) -> Measurement:
    return Measurement("found", seconds, seconds, steps, 2 * steps, 1, 1, proven, 1000.0)


@pytest.fixture
def bench_with(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], Bench]:
    """A benchmark on processes that answer as told."""

    def bench(answer: Answer, kept: Records[Trial, Measurement] | None = None) -> Bench:
        monkeypatch.setattr(parts, "measure", answer)
        return Bench(quick=True, time_limit=600.0, say=lambda _: None, kept=kept)

    return bench


def test_the_time_of_a_size_is_the_median_of_its_topologies(bench_with: Callable[[Answer], Bench]) -> None:
    times = {"5-balanced-1": 0.010, "6-unbalanced-1": 0.015, "7-balanced-2": 0.100}
    line = next(parts.first(bench_with(lambda trial: found(times[trial.topology]))))
    assert line.met is True
    assert line.measured == "0.015 s (at worst 0.1 s)"


def test_a_size_with_an_unsolved_topology_is_not_met(bench_with: Callable[[Answer], Bench]) -> None:
    line = next(
        parts.first(
            bench_with(lambda trial: found(0.001) if "unb" in trial.topology else Measurement("out of time"))
        )
    )
    assert line.met is False
    assert "1 of 3" in line.measured


def test_a_program_that_ran_out_of_time_gives_a_ratio_that_is_a_lower_bound(
    bench_with: Callable[[Answer], Bench],
) -> None:
    def answer(trial: Trial) -> Measurement:
        return found(2.0) if trial.planner.startswith("exact") else Measurement("out of time")

    (line,) = parts.seed(bench_with(answer))
    assert line.measured.startswith(">= 300 times")
    assert line.met is True


def test_a_program_that_failed_gives_no_ratio(bench_with: Callable[[Answer], Bench]) -> None:
    def answer(trial: Trial) -> Measurement:
        return found(2.0) if trial.planner.startswith("exact") else Measurement("failed", reason="crash")

    (line,) = parts.seed(bench_with(answer))
    assert line.met is None


def best_first_up_to(size: int, fast_steps: int) -> Answer:
    def answer(trial: Trial) -> Measurement:
        if trial.planner == "best-first":
            return found(50.0, steps=10) if trial.size <= size else Measurement("none found", 600.0)
        return found(0.01 if trial.time_limit == 0 else 1.0, steps=fast_steps)

    return answer


def test_best_first_is_compared_at_the_largest_size_that_it_solves(
    bench_with: Callable[[Answer], Bench],
) -> None:
    ratio, steps = parts.best_first(bench_with(best_first_up_to(40, fast_steps=20)))
    assert ratio.what == "best-first search / fast, 40 brokers"
    assert ratio.measured.startswith("5,000 times")
    assert (ratio.met, steps.met) == (True, True)


def test_a_plan_with_more_steps_than_the_rivals_is_told(bench_with: Callable[[Answer], Bench]) -> None:
    ratio, steps = parts.best_first(bench_with(best_first_up_to(40, fast_steps=21)))
    assert steps.met is False
    assert ratio.measured.startswith("50 times")


def test_no_difference_in_quality_is_claimed_where_the_exact_planner_has_no_plan(
    bench_with: Callable[[Answer], Bench],
) -> None:
    def answer(trial: Trial) -> Measurement:
        return found(2.0) if trial.planner == "fast" else Measurement("none found", 600.0)

    assert [line.met for line in parts.quality(bench_with(answer))] == [None, None]


def test_rows_that_were_kept_are_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Trial] = []

    def answer(trial: Trial) -> Measurement:
        ran.append(trial)
        return found(0.01)

    monkeypatch.setattr(parts, "measure", answer)
    for _ in range(2):
        bench = Bench(True, 600.0, lambda _: None, Records(tmp_path / "rows.csv", Trial, Measurement))
        assert len(list(parts.memory(bench))) == 1
    assert len(ran) == 3


def test_fast_downward_is_compared_at_the_largest_size_by_time_and_again_by_packed_steps(
    bench_with: Callable[[Answer], Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Trial] = []

    def rival(trial: Trial) -> Measurement:
        asked.append(trial)
        quick = "lama" in trial.planner
        if trial.size > 60 or (trial.size > 40 and "three" in trial.planner):
            return Measurement("out of time")
        return found(60.0, steps=12) if quick else found(90.0, steps=7)

    monkeypatch.setattr(parts, "fast_downward", rival)
    ratio, steps, packed = parts.downward(bench_with(lambda _: found(0.01, steps=8)))
    assert ratio.what == "Fast Downward, one action, lama-first / fast, 60 brokers"
    assert ratio.measured.startswith("6,000 times")
    assert steps.met is True
    assert (packed.met, packed.measured.startswith("8 against 7")) == (False, True)
    assert not any("three" in trial.planner for trial in asked if trial.size > 60)
