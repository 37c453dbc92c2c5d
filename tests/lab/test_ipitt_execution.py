from pathlib import Path

import pytest

from regraft.lab.ipitt_execution import OURS, THEIRS, Execution, Point, Sweeps, Trial, executions
from regraft.lab.ipitt_execution_metrics import Shift
from regraft.lab.ipitt_execution_plots import PANELS, draw, lanes
from regraft.lab.ipitt_execution_printed import (
    figure_table,
    means,
    more_latency,
    on,
    percent_growth,
    percent_shorter,
    printed_table,
)
from regraft.model import BadInput

CENTRE = Point(60, 20, 1_000)


def row(seconds: float, affected: float = 100.0, unaffected: float = 10.0, queue: float = 2.0) -> Execution:
    return Execution(
        "done",
        execution_s=seconds,
        affected_p99_ms=affected,
        unaffected_p99_ms=unaffected,
        queue_p99=queue,
        queue_most_p99=queue + 1,
    )


def trial(planner: str, topology: str = "t", **place: int) -> Trial:
    return Trial(planner, *CENTRE._replace(**place), topology)


def test_a_point_of_several_sweeps_is_run_once_with_both_plans() -> None:
    found = list(Sweeps((20, 60), (5, 20), (1_000, 5_000)).trials(["t"]))
    assert [each.point for each in found[::2]] == [
        Point(20, 20, 1_000),
        Point(60, 20, 1_000),
        Point(60, 5, 1_000),
        Point(60, 20, 5_000),
    ]
    assert [each.planner for each in found] == [OURS, THEIRS] * 4


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    done, none = trial(OURS), trial(THEIRS)
    executions(file).add(done, row(1.5)._replace(lost=0, attempts=2))
    executions(file).add(none, Execution("no plan", "not within\n60 s"))
    rows = executions(file).rows
    assert rows[done] == row(1.5)._replace(lost=0, attempts=2)
    assert rows[none] == Execution("no plan", "not within 60 s")


def test_a_line_cut_short_is_run_again(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    executions(file).add(trial(OURS), row(1.0))
    with file.open("a") as more:
        more.write("best-first,60,2")
    assert list(executions(file).rows) == [trial(OURS)]
    assert file.read_text().endswith("\n")


@pytest.mark.parametrize("text", ["planner,brokers\n", None])
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "runs.csv"
    file.write_text(text or ",".join((*Trial._fields, *Execution._fields)) + "\nfast,many\n")
    with pytest.raises(BadInput, match=r"line [12]"):
        executions(file)


def test_plans_are_compared_where_both_were_carried_out() -> None:
    rows = {
        trial(OURS): row(2.0),
        trial(THEIRS): row(5.0),
        trial(OURS, "only ours"): row(100.0),
        trial(OURS, brokers=150): row(3.0),
        trial(THEIRS, brokers=150): Execution("no plan", "none found"),
    }
    assert percent_shorter("brokers", rows) == {60: pytest.approx(60.0)}
    assert list(on("brokers", rows, OURS)) == [60, 150]
    assert means("brokers", rows, OURS, "execution_s") == {60: 51.0, 150: 3.0}


def test_latency_and_queues_are_compared_along_their_axis() -> None:
    rows = {
        trial(OURS): row(1.0, 150.0, 30.0, 2.0),
        trial(OURS, subscribers=5_000): row(2.0, 500.0, 60.0, 5.0),
        trial(OURS, change=30): row(2.0, 90.0, 100.0),
    }
    assert more_latency("subscribers", rows, OURS) == {1_000: 120.0, 5_000: 440.0}
    assert more_latency("change", rows, OURS) == {20: 120.0, 30: -10.0}
    assert percent_growth(rows, OURS, "queue_p99") == pytest.approx(150.0)
    assert percent_growth(rows, THEIRS, "queue_p99") is None


def test_the_seed_is_shown_beside_what_was_measured() -> None:
    rows = {trial(OURS): row(2.0), trial(THEIRS): row(5.0)}
    table = {(line[0], line[2]): line[3:] for line in printed_table(rows)}
    assert table["Figure 6b", "% shorter execution than BFS's plan, up to"] == (55, 60.0)
    assert table["Figure 6j", "% more queue growth, 5 times the subscribers, up to"] == (110, "")
    assert list(figure_table("brokers", rows, ["execution_s"])) == [
        ("brokers", "planner", "runs", "execution_s"),
        (60, OURS, 1, 2.0),
        (60, THEIRS, 1, 5.0),
    ]


def test_shifts_that_overlap_lie_in_different_rows() -> None:
    spans = [(0.0, 2.0), (1.0, 3.0), (2.5, 4.0), (5.0, 6.0)]
    assert lanes([Shift(1, "a", "b", "c", *span) for span in spans]) == [0, 1, 0, 0]


def test_a_picture_is_drawn_of_whatever_there_is(tmp_path: Path) -> None:
    file = tmp_path / "some.png"
    draw(
        PANELS[0],
        {trial(OURS): row(2.0), trial(OURS, "b"): row(3.0), trial(THEIRS): Execution("no plan")},
        file,
    )
    assert file.read_bytes().startswith(b"\x89PNG")
