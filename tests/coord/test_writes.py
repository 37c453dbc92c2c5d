"""What a node tells about an operation whose answer was lost, case by case."""

import pytest

from regraft.coord import Check, Create, Delete, Node, Operation, Set
from regraft.coord.writes import Seen, seen, sequence_of, together

US, OTHERS = 7, 8
DONE, NOT_DONE, EITHER = Seen.DONE, Seen.NOT_DONE, Seen.EITHER


def node(data: bytes = b"", version: int = 0, owner: int = 0) -> Node:
    return Node(data, version, owner, 1, 1)


@pytest.mark.parametrize(
    ("operation", "now", "expected"),
    [
        (Set("/x", b"a", 3), node(b"a", 4), DONE),
        (Set("/x", b"a", 3), node(b"b", 4), NOT_DONE),
        (Set("/x", b"a", 3), node(b"a", 3), NOT_DONE),
        (Set("/x", b"a", 3), node(b"a", 5), EITHER),
        (Set("/x", b"a", 3), None, EITHER),
        (Set("/x", b"a", -1), node(b"a", 5), DONE),
        (Create("/x", b"a"), node(b"a"), DONE),
        (Create("/x", b"a"), node(b"b"), NOT_DONE),
        (Create("/x", b"a"), node(b"b", 1), EITHER),
        (Create("/x", b"a"), node(b"a", 0, OTHERS), NOT_DONE),
        (Create("/x", b"a"), None, EITHER),
        (Create("/x", b"a", ephemeral=True), node(b"b", 2, US), DONE),
        (Create("/x", b"a", ephemeral=True), node(b"a", 0, OTHERS), NOT_DONE),
        (Create("/x", b"a", ephemeral=True), node(b"a"), NOT_DONE),
        (Delete("/x", 2), None, DONE),
        (Delete("/x", 2), node(b"", 3), EITHER),
        (Check("/x", 2), None, DONE),
    ],
)
def test_the_node_tells(operation: Operation, now: Node | None, expected: Seen) -> None:
    assert seen(operation, now, US) is expected


def test_all_or_nothing() -> None:
    assert together([DONE, DONE]) is DONE
    assert together([DONE, EITHER]) is EITHER
    assert together([DONE, EITHER, NOT_DONE]) is NOT_DONE


def test_the_number_of_a_sequential_node() -> None:
    assert sequence_of("tag-0000000012") == 12
