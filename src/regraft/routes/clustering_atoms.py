"""The finest clustering: events that the same switches want are one cluster (Content routes §6.3, outlook).

The ends of all expressions cut the space into atoms; atoms with the same terminals form a cluster. All events
of a cluster then have the same terminals, so a minimum Steiner tree is best for each of them and nothing is
lost by clustering: the sum over all clusters is the least data rate that any tables can reach.
"""

from collections.abc import Sequence

from regraft.filters.dz import Dz, DzSet
from regraft.routes.atoms import atoms_of
from regraft.routes.settings import RouteSettings


def by_atoms(
    expressions: Sequence[Dz], settings: RouteSettings, terminals: Sequence[frozenset[int]] = ()
) -> list[DzSet]:
    """Parts whose events are wanted at the same terminals (without terminals: by the same expressions)."""
    at: dict[Dz, set[int]] = {}
    for number, dz in enumerate(expressions):
        at.setdefault(dz, set()).update(terminals[number] if terminals else (number,))
    atoms = atoms_of(DzSet((dz,)) for dz in at)
    wanted: list[set[int]] = [set() for _ in range(len(atoms))]
    for dz, switches in at.items():
        for atom in atoms.inside(dz):
            wanted[atom] |= switches
    parts: dict[frozenset[int], int] = {}
    for atom, switches in enumerate(wanted):
        if switches:
            key = frozenset(switches)
            parts[key] = parts.get(key, 0) | 1 << atom
    return [atoms.part(mask) for mask in parts.values()]
