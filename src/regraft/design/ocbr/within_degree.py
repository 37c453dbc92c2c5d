"""A tree with a limit of degrees, from the exchanges of links that a search without one has found."""

from collections.abc import Sequence

from regraft.model import BadInput, Ends, Topology
from regraft.model.changes import changed


def within_degree(topology: Topology, exchanges: Sequence[tuple[Ends, Ends]], most: int) -> Topology:
    """As many of the exchanges as keep a tree in which no broker has more links, in rounds of their order.

    The search for trees knows no limit of degrees; what it gains comes exchange by exchange, so a part of
    them is still a gain in nearly every case, which the goals check.
    """
    left, before = list(exchanges), -1
    while len(left) != before:
        before, waiting = len(left), []
        for removed, added in left:
            degrees = {end: len(topology.neighbours[end] - _other(removed, end)) for end in added}
            try:
                if any(degree >= most for degree in degrees.values()):
                    raise BadInput("degree", "is at its limit")
                topology = changed(topology, (added,), (removed,))
            except BadInput:  # the limit, or a cycle until another exchange has been made
                waiting.append((removed, added))
        left = waiting
    return topology


def _other(link: Ends, end: str) -> set[str]:
    return {one for one in link if one != end} if end in link else set()
