"""What a neighbour is shown, against the definition: nothing shown is covered, everything wanted is."""

from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.broker.core.showing import Showing
from regraft.filters import Filter, covers, parse

FILTERS = [parse(f"x > {low} AND x <= {high}") for low in range(4) for high in range(low + 1, 5)]
CHANGES = st.lists(
    st.tuples(st.sampled_from(["want", "drop", "confirm"]), st.integers(0, 7), st.sampled_from(FILTERS)),
    max_size=40,
)


def apply(told: dict[str, Filter], showing: Showing) -> None:
    """What the neighbour has after it was told, additions before removals."""
    told.update(showing.added)
    for id in showing.removed:
        told.pop(id, None)  # one that was never told is no news
    showing.added, showing.removed = {}, set()


@settings(max_examples=200, deadline=None)
@given(CHANGES, st.integers(1, 5))
def test_the_neighbour_always_has_a_cover_of_everything_wanted_and_nothing_superfluous(
    changes: list[tuple[str, int, Filter]], batch: int
) -> None:
    showing = Showing()
    wanted: dict[str, Filter] = {}
    told: dict[str, Filter] = {}
    for count, (kind, number, filter) in enumerate(changes):
        id = f"s{number}"
        if kind == "want" and id not in wanted:
            showing.want(id, filter)
            wanted[id] = filter
        elif kind == "drop" and id in wanted:
            showing.drop(id)
            del wanted[id]
        elif kind == "confirm":
            showing.confirm(id)
        if count % batch == 0:
            apply(told, showing)
            assert all(any(covers(each, filter) for each in told.values()) for filter in wanted.values())
            assert told == showing.shown
    assert set(showing.ids()) == set(wanted)
    shown = list(showing.shown.values())
    assert not any(covers(a, b) for i, a in enumerate(shown) for j, b in enumerate(shown) if i != j)


def test_what_is_hidden_is_in_place_as_soon_as_its_cover_is() -> None:
    showing = Showing()
    assert not showing.want("wide", parse("x > 0"))
    assert not showing.want("narrow", parse("x > 5"))
    assert showing.confirm("wide") == ["wide", "narrow"]
    assert showing.want("narrower", parse("x > 6"))


def test_a_dropped_cover_brings_back_what_it_hid_before_it_is_gone() -> None:
    showing = Showing()
    showing.want("wide", parse("x > 0"))
    showing.want("narrow", parse("x > 5"))
    showing.added.clear()
    assert showing.drop("wide") == []
    assert list(showing.added) == ["narrow"]
    assert showing.removed == {"wide"}


def test_a_wider_one_that_comes_later_replaces_what_was_shown() -> None:
    showing = Showing()
    showing.want("narrow", parse("x > 5"))
    showing.added.clear()
    showing.want("wide", parse("x > 0"))
    assert list(showing.added) == ["wide"]
    assert showing.removed == {"narrow"}
    assert showing.hidden_by == {"narrow": "wide"}
