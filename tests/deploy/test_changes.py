"""Actions as changes of links: what they consist of, what they do, how they are taken back."""

import random

import pytest

from regraft.deploy.changes import Raw, apply, changes_of, concerned, inverse, path, taken_back
from regraft.model import Action, BadInput, Ends, Topology, ends
from regraft.testing.trees import random_tree

CHAIN: set[Ends] = {("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")}


def test_an_action_other_than_move_is_one_change() -> None:
    assert changes_of(Action("shift", ("a", "b", "c")), CHAIN) == [("shift", "a", "b", "c")]
    assert changes_of(Action("append", ("x", "a")), CHAIN) == [("append", "x", "a")]


@pytest.mark.parametrize(
    ("move", "expected"),
    [
        (
            ("a", "b", "a", "e"),
            [("shift", "a", "b", "c"), ("shift", "a", "c", "d"), ("shift", "a", "d", "e")],
        ),
        (
            ("c", "b", "a", "e"),
            [("shift", "c", "b", "a"), ("shift", "a", "c", "d"), ("shift", "a", "d", "e")],
        ),
        (
            ("b", "c", "e", "a"),
            [("shift", "b", "c", "d"), ("shift", "b", "d", "e"), ("shift", "e", "b", "a")],
        ),
    ],
)
def test_a_move_slides_its_link_one_end_at_a_time(move: tuple[str, ...], expected: list[Raw]) -> None:
    assert changes_of(Action("move", move), CHAIN) == expected


def test_a_move_whose_link_is_not_between_its_new_ends_is_refused() -> None:
    with pytest.raises(BadInput, match="does not lie between a and b"):
        changes_of(Action("move", ("d", "e", "a", "b")), CHAIN)


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
def test_a_change_concerns_its_links_and_its_guard(change: Raw, links: set[Ends]) -> None:
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
def test_what_does_not_fit_is_not_applied(change: Raw) -> None:
    with pytest.raises(BadInput, match="does not fit the links that there are"):
        apply(change, "abcde", CHAIN)


def test_brokers_come_and_go() -> None:
    brokers, links = apply(("append", "x", "a"), "abcde", CHAIN)
    assert "x" in brokers
    assert ("a", "x") in links
    assert apply(("detach", "x", "a"), brokers, links) == (list("abcde"), sorted(CHAIN))


@pytest.mark.parametrize("change", [("shift", "a", "b", "c"), ("append", "x", "a"), ("unlink", "a", "b")])
def test_the_inverse_undoes(change: Raw) -> None:
    after = apply(change, "abcde", CHAIN)
    assert apply(inverse(change), *after) == (list("abcde"), sorted(CHAIN))
    assert inverse(inverse(change)) == change


def test_steps_are_taken_back_last_first_and_long_actions_a_change_at_a_step() -> None:
    long: list[Raw] = [("shift", "a", "b", "c"), ("shift", "a", "c", "d")]
    steps: list[list[list[Raw]]] = [[[("append", "x", "a")]], [long, [("link", "p", "q")]], [[]]]
    assert taken_back(steps) == [
        [("shift", "a", "d", "c"), ("unlink", "p", "q")],
        [("shift", "a", "c", "b")],
        [("detach", "x", "a")],
    ]


def test_random_moves_keep_the_tree_at_every_change_and_can_be_taken_back() -> None:
    rng = random.Random(7)
    for _ in range(200):
        links = {ends(f"b{one}", f"b{other}") for one, other in random_tree(rng.randint(3, 12), rng)}
        ids = sorted({end for link in links for end in link})
        k, l = rng.sample(ids, 2)
        way = path(links, k, l)
        if len(way) < 3:
            continue
        at = rng.randrange(len(way) - 1)
        pair = list(way[at : at + 2])
        rng.shuffle(pair)
        made = changes_of(Action("move", (*pair, k, l)), links)
        state = (ids, sorted(links))
        for change in made:
            state = apply(change, *state)
            Topology.of(state[1], state[0])  # raises if it is no tree
        assert set(state[1]) == links - {ends(*pair)} | {ends(k, l)}
        for step in taken_back([[made]]):
            state = apply(step[0], *state)
        assert set(state[1]) == links
