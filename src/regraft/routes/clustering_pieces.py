"""What is clustered: the expressions cut into pieces that do not overlap (Content routes §5.1.6).

Each cluster gets a tree of its own, and an event may follow one tree only, so clusters must be disjoint
although filters are not. The piece of an expression is the expression without all longer ones that begin with
it; all events of a piece are wanted by the same filters, those that are a prefix of the expression.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from regraft.filters.dz import Dz, DzSet
from regraft.routes.atoms import Atoms, atoms_of


@dataclass(frozen=True)
class Pieces:
    """Piece i belongs to the expression `owners[i]`; `holders[i]` are the places of all that hold it."""

    atoms: Atoms
    owners: tuple[Dz, ...]
    masks: tuple[int, ...]
    holders: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.owners)

    def groups(self, labels: Sequence[int]) -> list[DzSet]:
        """The union of the pieces of each label, in the order of their first pieces."""
        masks: dict[int, int] = {}
        for label, mask in zip(labels, self.masks, strict=True):
            masks[label] = masks.get(label, 0) | mask
        return [self.atoms.part(mask) for mask in masks.values()]

    def wanted(self, terminals: Sequence[frozenset[int]]) -> list[frozenset[int]]:
        """Who wants each piece: the terminals of its holders, or the holders if no terminals are known."""
        if not terminals:
            return [frozenset(holders) for holders in self.holders]
        return [frozenset().union(*(terminals[place] for place in holders)) for holders in self.holders]


def pieces_of(expressions: Sequence[Dz]) -> Pieces:
    """The non-empty pieces, in the order of the expressions; `holders` are places in `expressions`."""
    places: dict[Dz, list[int]] = {}
    for place, dz in enumerate(expressions):
        places.setdefault(dz, []).append(place)
    atoms = atoms_of(DzSet((dz,)) for dz in places)
    left: dict[Dz, int] = {}
    covered = 0
    for dz in sorted(places, key=len, reverse=True):
        mask = atoms.mask(DzSet((dz,)))
        left[dz] = mask & ~covered
        covered |= mask
    owners = tuple(dz for dz in sorted(places) if left[dz])
    holders = tuple(
        tuple(place for end in range(len(dz) + 1) for place in places.get(dz[:end], ())) for dz in owners
    )
    return Pieces(atoms, owners, tuple(left[dz] for dz in owners), holders)
