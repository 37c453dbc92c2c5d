"""Atoms: integers behave as the parts of the event space that they stand for."""

from hypothesis import given
from hypothesis import strategies as st

from regraft.filters.dz import DzSet
from regraft.routes.atoms import atoms_of, event_masks

DIGITS = 5
expressions = st.text("01", max_size=DIGITS)
parts = st.lists(expressions, max_size=4).map(DzSet)
POINTS = [format(number, f"0{DIGITS}b") for number in range(1 << DIGITS)]


def held(part: DzSet) -> set[str]:
    """By looking at every point of the space."""
    return {point for point in POINTS if any(point.startswith(dz) for dz in part.expressions)}


@given(st.lists(parts, min_size=1, max_size=5))
def test_a_part_and_its_mask_are_the_same(given_parts: list[DzSet]) -> None:
    atoms = atoms_of(given_parts)
    for part in given_parts:
        assert atoms.part(atoms.mask(part)) == part
        assert atoms.volume(atoms.mask(part)) == part.volume


@given(parts, parts, parts)
def test_operations_on_masks_are_operations_on_points(one: DzSet, other: DzSet, third: DzSet) -> None:
    atoms = atoms_of((one, other, third))
    a, b = atoms.mask(one), atoms.mask(other)
    assert held(atoms.part(a | b)) == held(one) | held(other)
    assert held(atoms.part(a & b)) == held(one) & held(other)
    assert held(atoms.part(a & ~b)) == held(one) - held(other)


def test_112_digits_are_not_rounded() -> None:
    one, other = DzSet(["0" * 112]), DzSet(["0" * 111 + "1"])
    atoms = atoms_of((one, other, DzSet(["1"])))
    assert atoms.part(atoms.mask(one) | atoms.mask(other)) == DzSet(["0" * 111])
    assert not atoms.mask(one) & atoms.mask(other)


def test_switches_want_what_their_subscribers_want_together() -> None:
    subscribed = (DzSet(["00"]), DzSet(["011"]), DzSet(["1"]))
    events = event_masks((DzSet(["0"]),), subscribed, (2, 2, 0), 3)
    parts = [events.atoms.part(mask) for mask in events.wants_at]
    assert parts == [DzSet(["1"]), DzSet(), DzSet(["00", "011"])]
    assert events.atoms.part(events.advertised[0] & events.subscribed[1]) == DzSet(["011"])


def test_further_parts_can_be_made_expressible() -> None:
    said, region = (DzSet(["0"]),), DzSet(["0101"])
    assert not event_masks(said, (), (), 1).atoms.divides(region)
    events = event_masks(said, (), (), 1, also=(region,))
    assert events.atoms.divides(region)
    assert events.atoms.part(events.atoms.mask(region)) == region
