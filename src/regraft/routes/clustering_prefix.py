"""Clusters of filters that begin with the same digits: the thesis's choice (Content routes §5.1.6, §6.3)."""

from collections.abc import Sequence

from regraft.filters.dz import Dz, DzSet
from regraft.routes.clustering_pieces import pieces_of
from regraft.routes.settings import RouteSettings


def by_prefix(
    expressions: Sequence[Dz], settings: RouteSettings, terminals: Sequence[frozenset[int]] = ()
) -> list[DzSet]:
    """Expressions that share `settings.prefix` digits form a cluster; the piece of a shorter one is a cluster
    alone.

    Sorted expressions are in the order of a depth-first search of the tree of halvings, so each cluster is a
    branch, which ends as soon as the digits change.
    """
    pieces = pieces_of(expressions)
    labels: list[int] = []
    branch: Dz | None = None
    for dz in pieces.owners:
        start = dz[: settings.prefix] if len(dz) >= settings.prefix else None
        if start is None or start != branch:
            labels.append(len(labels))
            branch = start
        else:
            labels.append(labels[-1])
    return pieces.groups(labels)
