"""The table of starting values of T."""

from regraft.plan.plan_lengths import STARTING_T, starting_length


def test_a_listed_task_starts_at_its_entry() -> None:
    for brokers, by_ratio in STARTING_T.items():
        for percent, T in by_ratio.items():
            assert starting_length(brokers, -(-percent * (brokers - 1) // 100)) == T


def test_a_small_task_starts_at_one() -> None:
    assert starting_length(5, 4) == 1
    assert starting_length(2, 1) == 1
    assert starting_length(1, 0) == 1


def test_more_brokers_or_more_changes_never_start_lower() -> None:
    for brokers in range(2, 80):
        for changed in range(brokers - 1):
            assert starting_length(brokers, changed) <= starting_length(brokers, changed + 1)
    assert starting_length(1000, 200) >= starting_length(60, 12)
