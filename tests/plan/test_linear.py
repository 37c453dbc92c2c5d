"""Linear constraints that are written like formulas."""

import numpy as np
import pytest

from regraft.plan.linear import each, stack, total


def test_a_comparison_of_expressions_moves_everything_to_one_side() -> None:
    rows = each(np.array([0, 1])) + each(np.array([2, 3])) <= each(np.array([4, 4]))
    assert sorted(zip(rows.row.tolist(), rows.column.tolist(), rows.value.tolist(), strict=True)) == [
        (0, 0, 1),
        (0, 2, 1),
        (0, 4, -1),
        (1, 1, 1),
        (1, 3, 1),
        (1, 4, -1),
    ]
    assert rows.lower.tolist() == [-np.inf, -np.inf]
    assert rows.upper.tolist() == [0, 0]


def test_a_total_has_a_row_for_each_group_and_step_even_if_empty() -> None:
    columns = np.array([[10, 11], [20, 21], [30, 31]])
    sums = total(columns, group=np.array([2, 0, 2]), groups=3)
    assert sums.count == 6
    members = {row: sorted(sums.column[sums.row == row].tolist()) for row in range(6)}
    assert members == {0: [20], 1: [21], 2: [], 3: [], 4: [10, 30], 5: [11, 31]}


def test_rows_are_numbered_on_when_stacked() -> None:
    rows = stack([each(np.array([5, 6])) >= 1, each(np.array([7])).equals(2)])
    assert rows.row.tolist() == [0, 1, 2]
    assert rows.lower.tolist() == [1, 1, 2]
    assert rows.upper.tolist() == [np.inf, np.inf, 2]


def test_a_column_that_stands_twice_in_a_row_is_added_up() -> None:
    twice = each(np.array([3, 4])) + each(np.array([3, 1])) - each(np.array([2, 4]))
    rows = stack([twice >= 0])
    assert list(zip(rows.row.tolist(), rows.column.tolist(), rows.value.tolist(), strict=True)) == [
        (0, 2, -1),
        (0, 3, 2),
        (1, 1, 1),
    ]


def test_expressions_of_different_length_do_not_add() -> None:
    with pytest.raises(ValueError, match="row by row"):
        each(np.array([0, 1])) + each(np.array([0]))
