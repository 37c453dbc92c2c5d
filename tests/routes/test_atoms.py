"""Atoms: integers behave as the parts of the event space that they stand for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regraft.filters.dz import DzSet
from regraft.routes.atoms import atoms_of

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


@given(st.lists(parts, min_size=1, max_size=5))
def test_the_matrix_product_gives_the_overlap_of_every_pair(given_parts: list[DzSet]) -> None:
    atoms = atoms_of(given_parts)
    rows = atoms.members([atoms.mask(part) for part in given_parts])
    overlaps = (rows * atoms.volumes) @ rows.T
    expected = [[len(held(one) & held(other)) / len(POINTS) for other in given_parts] for one in given_parts]
    np.testing.assert_allclose(overlaps, expected)


def test_112_digits_are_not_rounded() -> None:
    one, other = DzSet(["0" * 112]), DzSet(["0" * 111 + "1"])
    atoms = atoms_of((one, other, DzSet(["1"])))
    assert atoms.part(atoms.mask(one) | atoms.mask(other)) == DzSet(["0" * 111])
    assert not atoms.mask(one) & atoms.mask(other)
