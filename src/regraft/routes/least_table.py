"""The fewest table entries that give every event its action (Content routes §4.3, (5.59)).

A table gives every event the action of the longest expression that is a prefix of the event's. For a wanted
function event -> action the smallest such table is found by dynamic programming over the halvings of the
space: bottom up, the set of actions that are cheapest for a half as a whole; then top down, an entry only
where the action inherited from above is not among the cheapest. Parts from which no event arrives
("anything") may take whatever action is around them. An entry is at least one digit long (4.31).
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeVar

from regraft.filters.dz import Dz, DzSet

Action = TypeVar("Action", bound=Hashable)

DROP = -1
"""The action without an entry."""


class _Node(NamedTuple):
    """A part of the space: the actions that are cheapest for it as a whole (None: all are)."""

    dz: Dz
    cheapest: frozenset[int] | None
    halves: tuple["_Node", ...]


def least_table(
    cases: Sequence[tuple[DzSet, Action]], anything: DzSet | None = None
) -> list[tuple[Dz, Action | None]]:
    """Entries that give the events of each case its action, and drop (action None) all other events except
    those of `anything`, which may get any action.

    Cases are disjoint. Where `anything` and a case overlap, the case decides.
    """
    marks = [(dz, number) for number, (part, _) in enumerate(cases) for dz in part]
    marks += [(dz, len(cases)) for dz in (anything or ())]
    root = _node("", sorted(marks), None, len(cases))
    entries: list[tuple[Dz, int]] = []
    for half in root.halves or (root._replace(dz="0"), root._replace(dz="1")):
        _choose(half, DROP, entries)
    return [(dz, None if action == DROP else cases[action][1]) for dz, action in entries]


def _node(dz: Dz, marks: list[tuple[Dz, int]], around: int | None, anything: int) -> _Node:
    """`marks` are the expressions inside this part; `around` is the one that holds all of it, if any."""
    own = [number for mark, number in marks if len(mark) == len(dz)]
    if own:
        case = min(own)
        around = case if around is None or around == anything else around
        marks = [mark for mark in marks if len(mark[0]) > len(dz)]
    if not marks or (around is not None and around != anything):
        if around == anything:
            return _Node(dz, None, ())
        return _Node(dz, frozenset((DROP if around is None else around,)), ())
    place = len(dz)
    split = next((n for n, (mark, _) in enumerate(marks) if mark[place] == "1"), len(marks))
    low = _node(dz + "0", marks[:split], around, anything)
    high = _node(dz + "1", marks[split:], around, anything)
    if low.cheapest is None or high.cheapest is None:
        cheapest = low.cheapest or high.cheapest
    else:
        cheapest = (low.cheapest & high.cheapest) or (low.cheapest | high.cheapest)
    return _Node(dz, cheapest, (low, high))


def _choose(node: _Node, above: int, entries: list[tuple[Dz, int]]) -> None:
    if node.cheapest is None:
        return
    if above not in node.cheapest:
        # A real action is preferred to dropping: entries further down drop the events that are not wanted.
        above = max(node.cheapest)
        entries.append((_longest(node, above), above))
    for half in node.halves:
        _choose(half, above, entries)


def _longest(node: _Node, action: int) -> Dz:
    """As long an expression as possible: if one half takes any action, only the other needs the entry."""
    while node.halves and any(half.cheapest is None for half in node.halves):
        node = node.halves[0] if node.halves[0].cheapest is not None else node.halves[1]
    return node.dz
