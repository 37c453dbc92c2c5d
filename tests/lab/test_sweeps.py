from regraft.lab.ipitt_printed import PRINTED, TABLE_1
from regraft.lab.sweeps import label, largest, mean_at, most_above, most_below, most_times_faster, on, ratios
from regraft.lab.trial import Measurement, Trial


def row(
    planner: str, size: int, topology: str, steps: int | None, seconds: float = 1.0, change: int = 20
) -> tuple[Trial, Measurement]:
    trial = Trial(planner, size, change, topology, 600.0)
    if steps is None:
        return trial, Measurement("none found", seconds)
    return trial, Measurement("found", seconds, seconds / 2, steps, 2 * steps)


ROWS = dict(
    [
        row("ip-naive", 20, "a", 4, 10.0),
        row("ip-naive", 20, "b", None),
        row("ip-naive", 30, "a", None),
        row("ip-each-path", 20, "a", 5, 2.0),
        row("ip-each-path", 20, "b", 100, 1000.0),
        row("ip-each-path", 30, "a", 6, 4.0),
        row("best-first", 20, "a", 10, 8.0),
        row("ip-each-path", 60, "a", 9, 7.0, change=30),
    ]
)


def test_the_largest_size_is_one_that_some_topology_was_solved_at() -> None:
    assert largest(ROWS, "size", "ip-naive") == 20
    assert largest(ROWS, "size", "ip-each-path") == 30
    assert largest(ROWS, "size", "exact") is None
    assert largest(ROWS, "change", "ip-each-path") == 30


def test_means_leave_out_what_was_not_solved() -> None:
    assert mean_at(ROWS, "size", 20, "ip-naive") == 10.0
    assert mean_at(ROWS, "size", 20, "ip-each-path") == 501.0
    assert mean_at(ROWS, "size", 30, "ip-naive") is None


def test_the_time_of_a_best_first_search_is_when_it_found_its_plan() -> None:
    assert mean_at(ROWS, "size", 20, "best-first") == 4.0


def test_planners_are_compared_only_where_both_have_a_plan() -> None:
    assert ratios(ROWS, "size", "ip-each-path", "ip-naive", "steps") == {20: 1.25}
    assert most_above(ROWS, "size", "ip-each-path", "ip-naive", "steps") == 25.0
    assert most_below(ROWS, "size", "ip-each-path", "best-first", "actions") == 50.0
    assert most_below(ROWS, "size", "ip-each-path", "best-first", "actions", least=40) is None
    assert most_times_faster(ROWS, "ip-each-path", "ip-naive", 0, 150) == 5.0
    assert most_times_faster(ROWS, "ip-each-path", "ip-naive", 30, 150) is None


def test_the_fast_planner_without_time_to_improve_is_a_curve_of_its_own() -> None:
    first, improved = Trial("fast", 20, 20, "a", 0.0), Trial("fast", 20, 20, "a", 2.0)
    assert (label(first), label(improved)) == ("fast-first", "fast")
    rows = {first: Measurement("found", 0.1, 0.1, 5, 5), improved: Measurement("found", 2.0, 1.0, 4, 5)}
    assert list(on("size", rows, "fast")[20]) == [improved]


def test_every_printed_figure_can_be_asked_of_any_rows() -> None:
    for figure in PRINTED:
        assert figure.measured({}) is None
        figure.measured(ROWS)


def test_table_1_has_the_variables_that_appendix_a_gives() -> None:
    """|A| T + 5 |F| (T + 1) with conn and rem of all pairs of 60 brokers: T must have been 6, 7 and 7."""
    F = 60 * 59
    for planner, T in (("ip-naive", 6), ("ip-all-paths", 7), ("ip-each-path", 7)):
        printed = TABLE_1[planner]
        assert printed.actions is not None
        assert printed.variables == printed.actions * T + 5 * F * (T + 1)
