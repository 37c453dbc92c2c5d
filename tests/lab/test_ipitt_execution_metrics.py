import numpy as np

from regraft.lab.ipitt_execution_metrics import (
    Deliveries,
    Growth,
    Queue,
    Shift,
    affected,
    beyond,
    changed_paths,
    growth,
    growths,
    p99,
)

CHAIN = [("a", "b"), ("b", "c"), ("c", "d")]
NUMBERS = {name: number for number, name in enumerate("abcd")}


def deliveries(*rows: tuple[str, float, float]) -> Deliveries:
    """Deliveries to one subscriber at each broker: where it sits, when it was sent, when received."""
    at = np.array([NUMBERS[broker] for broker, _, _ in rows])
    sent, received = (np.array([row[column] for row in rows]) for column in (1, 2))
    return Deliveries(at, at, np.arange(len(rows)), sent, received)


def test_beyond_a_link_are_those_whose_path_from_the_root_uses_it() -> None:
    assert beyond(CHAIN, "a", ("b", "c")) == {"c", "d"}
    assert beyond(CHAIN, "d", ("b", "c")) == {"a", "b"}
    assert beyond(CHAIN, "a", ("a", "d")) == set()


def test_a_shift_changes_the_paths_over_the_link_that_it_takes_away() -> None:
    assert changed_paths(CHAIN, "a", [Shift(1, "d", "c", "b", 0, 1)]) == [{"d"}]


def test_a_later_step_begins_where_the_one_before_has_ended() -> None:
    two = [Shift(1, "d", "c", "b", 0, 1), Shift(2, "c", "b", "d", 1, 2)]
    assert changed_paths(CHAIN, "a", two) == [{"d"}, {"c"}]


def test_a_shift_beside_another_counts_with_either_order() -> None:
    # c moves behind d while d moves to a: c's path uses the link of d before, or after.
    tree = [("a", "b"), ("b", "c"), ("b", "d")]
    together = [Shift(1, "d", "b", "a", 0, 1), Shift(1, "c", "b", "d", 0, 1)]
    assert changed_paths(tree, "a", together) == [{"c", "d"}, {"c"}]


def test_only_what_is_in_transit_on_a_changed_path_is_affected() -> None:
    seen = deliveries(
        ("d", 0.0, 0.9),  # arrived before
        ("d", 0.9, 1.1),
        ("d", 1.9, 2.5),
        ("d", 2.1, 2.2),  # sent after
        ("b", 1.2, 1.3),  # another path
    )
    shift = Shift(1, "c", "b", "a", 1.0, 2.0)
    hit = affected(seen, [shift], changed_paths(CHAIN, "a", [shift]), NUMBERS)
    assert hit.tolist() == [False, True, True, False, False]
    assert seen.milliseconds(hit).round().tolist() == [200, 600]


def test_queues_are_compared_from_before_a_shift_until_after_it() -> None:
    queue = Queue(np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([9, 1, 7, 4, 100]))
    assert growth(Shift(1, "a", "b", "c", 1.5, 2.5), queue) == Growth(3, 6)


def test_a_shift_beyond_the_last_look_ends_with_it() -> None:
    queue = Queue(np.array([0.0, 1.0]), np.array([5, 2]))
    assert growth(Shift(1, "a", "b", "c", -1.0, 9.0), queue) == Growth(-3, 0)


def test_all_three_brokers_of_a_shift_count() -> None:
    queues = {
        name: Queue(np.array([0.0, 1.0]), np.array([0, size]))
        for name, size in zip("abcd", range(4), strict=True)
    }
    assert growths([Shift(1, "b", "c", "d", 0, 1)], queues) == [Growth(1, 1), Growth(2, 2), Growth(3, 3)]


def test_of_nothing_there_is_no_percentile() -> None:
    assert p99([]) is None
    assert p99([7.0]) == 7.0
