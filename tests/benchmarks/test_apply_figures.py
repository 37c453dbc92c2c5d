import json
from pathlib import Path

import numpy as np
from benchmarks._apply_figures import lines
from benchmarks._apply_figures_clients import SESSIONS, sessions
from benchmarks._apply_figures_write import one_client, write

from regraft.lab.ipitt_execution import CENTRE, OURS, THEIRS, Execution, Rows, Trial


def done(seconds: float, late: float = 100.0, lost: int = 0) -> Execution:
    return Execution(
        "done",
        execution_s=seconds,
        due=10,
        lost=lost,
        affected_p99_ms=late,
        unaffected_p99_ms=10.0,
        queue_p99=1.0,
        queue_most_p99=2.0,
    )


def at_the_centre(planner: str) -> Trial:
    return Trial(planner, *CENTRE)


def test_each_subscriber_has_a_session_of_its_own_while_they_are_few() -> None:
    assert list(sessions(["a", "b", "a"])) == [("a", [0]), ("a", [2]), ("b", [1])]


def test_many_subscribers_share_sessions_at_their_brokers() -> None:
    homes = ["a", "b"] * (3 * SESSIONS // 2)
    found = list(sessions(homes))
    assert len(found) <= SESSIONS + 2
    assert sorted(number for _, numbers in found for number in numbers) == list(range(len(homes)))
    assert all(homes[number] == home for home, numbers in found for number in numbers)


def test_what_was_promised_is_judged_by_the_rows() -> None:
    good: Rows = {at_the_centre(OURS): done(1.0), at_the_centre(THEIRS): done(3.0)}
    bad: Rows = {at_the_centre(OURS): done(2.0, 300.0, lost=1), at_the_centre(THEIRS): done(3.0)}
    assert {line.met for line in lines(good)} == {True, None}
    missed = [line.what for line in lines(bad) if line.met is False]
    assert [what.split(",")[0].split(" by")[0] for what in missed] == [
        *["execution shorter than best-first's plan", "p99 of affected above unaffected"] * 3,
        "all 2 runs together",
    ]


def test_a_plan_that_was_not_found_is_said() -> None:
    rows: Rows = {at_the_centre(OURS): done(1.0), at_the_centre(THEIRS): Execution("no plan", "not in 60 s")}
    assert [line.measured for line in lines(rows)][-1] == "no plan: not in 60 s"


def runs(folder: Path) -> dict[str, Path]:
    """Subscriber 2 is affected under both plans, 1 under one."""
    places = {}
    for planner, hit in ((OURS, [False, True, True]), (THEIRS, [False, False, True])):
        place = places[planner] = folder / "runs" / at_the_centre(planner).name
        place.mkdir(parents=True)
        sent = np.array([1.0, 2.0, 3.0])
        np.savez(
            place / "deliveries.npz",
            subscribers=np.array([0, 1, 2]),
            sent=sent,
            received=sent + 0.25,
            affected=np.array(hit),
        )
        (place / "shifts.json").write_text(json.dumps([[1, "i", "j", "k", 2.5, 3.5]]))
    return places


def test_the_client_that_is_shown_is_the_most_affected(tmp_path: Path) -> None:
    client, watched = one_client(runs(tmp_path))
    assert client == 2
    assert watched[OURS].late_ms.tolist() == [250.0]
    assert watched[OURS].shifts[0].ended == 3.5


def test_every_picture_and_table_is_written(tmp_path: Path) -> None:
    runs(tmp_path)
    write(tmp_path, {at_the_centre(OURS): done(1.0), at_the_centre(THEIRS): done(3.0)}, CENTRE)
    assert sorted(each.stem for each in tmp_path.glob("*.png")) == [
        f"figure_6{letter}" for letter in "abcdefghij"
    ]
    assert len(list(tmp_path.glob("*.csv"))) == 10
