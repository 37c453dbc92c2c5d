"""All that publishers advertise and subscribers want, as integers over common atoms.

The same few values are asked for again and again while one problem is worked on, so the last ones are kept.
"""

from dataclasses import dataclass
from functools import lru_cache

from regraft.filters.dz import DzSet
from regraft.routes.atoms import Atoms, atoms_of


@dataclass(frozen=True)
class EventMasks:
    """`advertised[p]`, `subscribed[s]`, and `wants_at[r]`: what the subscribers of switch r want together."""

    atoms: Atoms
    advertised: tuple[int, ...]
    subscribed: tuple[int, ...]
    wants_at: tuple[int, ...]


@lru_cache(maxsize=8)
def event_masks(
    advertised: tuple[DzSet, ...],
    subscribed: tuple[DzSet, ...],
    subscriber_at: tuple[int, ...],
    vertices: int,
    also: tuple[DzSet, ...] = (),
) -> EventMasks:
    """`also` are further parts whose ends shall be ends of atoms."""
    atoms = atoms_of((*advertised, *subscribed, *also))
    wanted = tuple(map(atoms.mask, subscribed))
    wants_at = [0] * vertices
    for at, mask in zip(subscriber_at, wanted, strict=True):
        wants_at[at] |= mask
    return EventMasks(atoms, tuple(map(atoms.mask, advertised)), wanted, tuple(wants_at))
