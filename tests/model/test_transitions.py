"""State machines as tables, and their drawings."""

from enum import Enum

import pytest
from tests import diagrams
from tests.diagrams import BadDrawing, assert_drawn, drawn_transitions

from regraft.model import IllegalTransition
from regraft.model.transitions import KEPT, Machine, Transitions


class Step(Enum):
    IDLE = "idle"
    BUSY = "busy"
    OVER = "over"


TABLE = Transitions(
    [Step.IDLE],
    {Step.IDLE: [Step.BUSY], Step.BUSY: [Step.IDLE, Step.OVER], Step.OVER: []},
)


def test_a_machine_goes_the_ways_of_its_table_and_keeps_its_recent_history() -> None:
    machine = Machine(TABLE, Step.IDLE, "m")
    for _ in range(KEPT):
        machine.become(Step.BUSY)
        machine.become(Step.IDLE)
    assert machine.state is Step.IDLE
    assert len(machine.history) == KEPT


def test_an_illegal_transition_raises_with_the_history_and_changes_nothing() -> None:
    machine = Machine(TABLE, Step.IDLE, "m")
    machine.become(Step.BUSY)
    machine.become(Step.OVER)
    with pytest.raises(IllegalTransition, match="m: idle → busy → over cannot become idle"):
        machine.become(Step.IDLE)
    assert machine.history == (Step.IDLE, Step.BUSY, Step.OVER)


def test_a_stored_state_is_checked_without_a_machine() -> None:
    assert TABLE.checked((Step.IDLE,), Step.BUSY, "m") is Step.BUSY
    with pytest.raises(IllegalTransition, match="m: idle cannot become over"):
        TABLE.checked((Step.IDLE,), Step.OVER, "m")


def test_a_machine_begins_only_where_the_table_says() -> None:
    with pytest.raises(IllegalTransition, match="m cannot begin as over"):
        Machine(TABLE, Step.OVER, "m")


def test_a_table_without_a_row_for_each_state_is_refused() -> None:
    with pytest.raises(ValueError, match="rows for"):
        Transitions([Step.IDLE], {Step.IDLE: [Step.BUSY], Step.BUSY: []})


def test_the_drawing_of_the_helper_is_read_as_its_table() -> None:
    assert_drawn(diagrams.__doc__, TABLE)


NAMES = {"A", "B", "C", "D"}


@pytest.mark.parametrize(
    ("drawing", "transitions"),
    [
        ("A ──▶ B ◀── C", {"AB", "CB"}),
        ("A ──with some words──▶ B, and A is again here", {"AB"}),
        ("A ─┬─▶ B\n   └─▶ C", {"AB", "AC"}),
        ("A ─┬─▶ B\nC ─┘", {"AB", "CB"}),
        ("    C\n    │\nA ──┼──▶ B\n    ▼\n    D", {"AB", "CD"}),
        ("A\n│ text beside a line\n▼\nB\n▲\n│\nC", {"AB", "CB"}),
        ("A ──▶ B\n▲     │\n└─────┘", {"AB", "BA"}),
        ("nothing: A, B", set()),
    ],
)
def test_lines_lead_from_their_ends_to_their_arrows(drawing: str, transitions: set[str]) -> None:
    assert {before + after for before, after in drawn_transitions(drawing, NAMES)} == transitions


@pytest.mark.parametrize(
    "drawing",
    ["A ──▶ nobody", "nobody ──▶ A", "A ───── B", "A ──▶\nB", "A ──words▶ B", "A ─┐▶ B", "   │\nA ──▶ B"],
)
def test_a_line_that_leads_nowhere_is_a_fault_of_the_drawing(drawing: str) -> None:
    with pytest.raises(BadDrawing):
        drawn_transitions(drawing, NAMES)


@pytest.mark.parametrize(
    "drawing",
    ["● ──▶ IDLE ──▶ BUSY ──▶ OVER", "IDLE ──▶ BUSY", "● ──▶ IDLE ──▶ BUSY ──▶ OVER ──▶ BUSY ──▶ IDLE"],
)
def test_a_drawing_that_differs_from_the_table_is_noticed(drawing: str) -> None:
    with pytest.raises(AssertionError, match="only"):
        assert_drawn(f"A machine.\n\n    {drawing}\n", TABLE)
