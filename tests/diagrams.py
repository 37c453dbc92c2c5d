"""Drawings of state machines in docstrings, read back so that tests can compare them with the table.

A drawing is a paragraph with arrowheads. It consists of the names of the states, of ● for "begins here", and
of lines that lead to arrowheads:

    ● ──▶ IDLE ──work has come──▶ BUSY ──▶ OVER
           ▲                       │
           └───────────────────────┘

Lines are made of ─ │ and the corners ┌ ┐ └ ┘; ├ ┤ ┬ ┴ join lines, at ┼ two lines cross. A line leads from
every state at one of its ends to every state that one of its arrowheads touches. Text within a horizontal
line touches the line on both sides; any other text is ignored. There may be one space between a line and the
name to its left or right. A state may be drawn more than once.
"""

import re
from enum import Enum
from typing import TypeVar

from regraft.model.transitions import Transitions

S = TypeVar("S", bound=Enum)
Cell = tuple[int, int]
"""Row and column; also a way from one cell to the next."""
UP, RIGHT, DOWN, LEFT = (-1, 0), (0, 1), (1, 0), (0, -1)
LINES: dict[str, tuple[Cell, ...]] = {
    "─": (LEFT, RIGHT),
    "│": (UP, DOWN),
    "┌": (RIGHT, DOWN),
    "┐": (LEFT, DOWN),
    "└": (UP, RIGHT),
    "┘": (UP, LEFT),
    "├": (UP, DOWN, RIGHT),
    "┤": (UP, DOWN, LEFT),
    "┬": (LEFT, RIGHT, DOWN),
    "┴": (LEFT, RIGHT, UP),
    "┼": (UP, DOWN, LEFT, RIGHT),
}
HEADS: dict[str, Cell] = {"▶": RIGHT, "◀": LEFT, "▼": DOWN, "▲": UP}
LABEL = re.compile(r"(?<=─)[^\s─│┌┐└┘├┤┬┴┼▶◀▼▲](?:[^─│┌┐└┘├┤┬┴┼▶◀▼▲]*[^\s─│┌┐└┘├┤┬┴┼▶◀▼▲])?(?=─)")
BEGIN = "●"


class BadDrawing(AssertionError):
    """A line that leads nowhere, or comes from nowhere."""


def assert_drawn(docstring: str | None, transitions: Transitions[S]) -> None:
    """The drawing in the docstring has exactly the transitions of the table, and where machines begin."""
    names = {state.name for state in transitions.table}
    table = {(before.name, after.name) for before, row in transitions.table.items() for after in row}
    table |= {(BEGIN, state.name) for state in transitions.start}
    drawn = {pair for each in _drawings(docstring or "") for pair in drawn_transitions(each, names)}
    assert drawn == table, f"only drawn: {sorted(drawn - table)}; only in the table: {sorted(table - drawn)}"


def _drawings(text: str) -> list[str]:
    """The paragraphs that have an arrowhead."""
    paragraphs = re.split(r"\n[ \t]*\n", text)
    return [each for each in paragraphs if any(head in each for head in HEADS)]


def drawn_transitions(text: str, names: set[str]) -> set[tuple[str, str]]:
    rows = [LABEL.sub(lambda label: "─" * len(label.group()), line) for line in text.splitlines()]
    states = _states(rows, names)
    cells = {(r, c): char for r, row in enumerate(rows) for c, char in enumerate(row) if char in LINES}
    cells |= {(r, c): char for r, row in enumerate(rows) for c, char in enumerate(row) if char in HEADS}
    found: set[tuple[str, str]] = set()
    seen: set[tuple[Cell, Cell]] = set()
    for cell, char in cells.items():
        for way in _ways(char):
            if (cell, way) not in seen:
                line = _followed(cell, way, cells)
                seen |= line
                found |= _transitions(line, cells, states)
    return found


def _states(rows: list[str], names: set[str]) -> dict[Cell, str]:
    """Every cell that is part of a name, with that name; a space beside a name belongs to it."""
    known = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(names))}|{BEGIN})(?!\w)")
    states: dict[Cell, str] = {}
    for r, row in enumerate(rows):
        for match in known.finditer(row):
            first, last = match.start(), match.end()
            first -= first > 0 and row[first - 1] == " "
            last += last < len(row) and row[last] == " "
            states |= {(r, c): match.group() for c in range(first, last)}
    return states


def _ways(char: str) -> tuple[Cell, ...]:
    """Where the line continues from here; an arrowhead continues backwards only."""
    if char in HEADS:
        return (_back(HEADS[char]),)
    return LINES[char]


def _back(way: Cell) -> Cell:
    return -way[0], -way[1]


def _step(cell: Cell, way: Cell) -> Cell:
    return cell[0] + way[0], cell[1] + way[1]


def _place(cell: Cell) -> str:
    return f"row {cell[0] + 1}, column {cell[1] + 1}"


def _followed(cell: Cell, way: Cell, cells: dict[Cell, str]) -> set[tuple[Cell, Cell]]:
    """All of one line, as pairs of a cell and a way out of it."""
    line: set[tuple[Cell, Cell]] = set()
    open_ = [(cell, way)]
    while open_:
        cell, way = open_.pop()
        if (cell, way) in line:
            continue
        line.add((cell, way))
        char = cells[cell]
        open_ += [(cell, other) for other in _ways(char) if char != "┼" or other == _back(way)]
        beyond = _step(cell, way)
        if beyond in cells:
            if _back(way) not in _ways(cells[beyond]):
                raise BadDrawing(f"a line does not join the next one in {_place(cell)}")
            open_.append((beyond, _back(way)))
    return line


def _transitions(
    line: set[tuple[Cell, Cell]], cells: dict[Cell, str], states: dict[Cell, str]
) -> set[tuple[str, str]]:
    sources, targets = set(), set()
    for cell, way in line:
        beyond = _step(cell, way)
        if beyond not in cells:
            if beyond not in states:
                raise BadDrawing(f"a line ends without a state in {_place(cell)}")
            sources.add(states[beyond])
        if cells[cell] in HEADS:
            head = _step(cell, HEADS[cells[cell]])
            if head not in states:
                raise BadDrawing(f"an arrow touches no state in {_place(cell)}")
            targets.add(states[head])
    if not sources or not targets:
        raise BadDrawing(f"a line has no {'arrow' if sources else 'beginning'}: {sorted(sources | targets)}")
    return {(before, after) for before in sources for after in targets}
