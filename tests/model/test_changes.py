"""Actions as changes of links: which links they concern, what they change, how they are undone."""

import pytest

from regraft.model import BadInput, Ends
from regraft.model.changes import RawAction, apply, concerned, inverse, taken_back

CHAIN: set[Ends] = {("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")}


@pytest.mark.parametrize(
    ("change", "links"),
    [
        (("shift", "a", "b", "c"), {("a", "b"), ("a", "c"), ("b", "c")}),
        (("append", "x", "a"), {("a", "x")}),
        (("detach", "a", "b"), {("a", "b")}),
        (("link", "a", "b"), {("a", "b")}),
        (("unlink", "b", "a"), {("a", "b")}),
    ],
)
def test_a_change_concerns_its_links_and_its_guard(change: RawAction, links: set[Ends]) -> None:
    assert concerned(change) == links


@pytest.mark.parametrize(
    "change",
    [
        ("shift", "a", "c", "d"),
        ("shift", "a", "b", "d"),
        ("link", "a", "b"),
        ("unlink", "a", "c"),
        ("detach", "x", "a"),
    ],
)
def test_what_does_not_fit_is_not_applied(change: RawAction) -> None:
    with pytest.raises(BadInput, match="does not fit the links that there are"):
        apply(change, "abcde", CHAIN)


def test_brokers_come_and_go() -> None:
    brokers, links = apply(("append", "x", "a"), "abcde", CHAIN)
    assert "x" in brokers
    assert ("a", "x") in links
    assert apply(("detach", "x", "a"), brokers, links) == (list("abcde"), sorted(CHAIN))


@pytest.mark.parametrize("change", [("shift", "a", "b", "c"), ("append", "x", "a"), ("unlink", "a", "b")])
def test_the_inverse_undoes(change: RawAction) -> None:
    after = apply(change, "abcde", CHAIN)
    assert apply(inverse(change), *after) == (list("abcde"), sorted(CHAIN))
    assert inverse(inverse(change)) == change


def test_steps_are_taken_back_last_first_and_long_actions_a_change_at_a_step() -> None:
    long: list[RawAction] = [("shift", "a", "b", "c"), ("shift", "a", "c", "d")]
    steps: list[list[list[RawAction]]] = [[[("append", "x", "a")]], [long, [("link", "p", "q")]], [[]]]
    assert taken_back(steps) == [
        [("shift", "a", "d", "c"), ("unlink", "p", "q")],
        [("shift", "a", "c", "b")],
        [("detach", "x", "a")],
    ]
