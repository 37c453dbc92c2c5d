"""A tree within a limit of degrees, from exchanges that know none."""

from itertools import pairwise

from regraft.design.ocbr.within_degree import within_degree
from regraft.model import Topology

CHAIN = Topology.of(pairwise("abcdef"))


def test_exchanges_are_made_as_far_as_degrees_allow() -> None:
    wanted = [(("b", "c"), ("a", "c")), (("c", "d"), ("a", "d")), (("d", "e"), ("a", "e"))]
    found = within_degree(CHAIN, wanted, 2)
    assert max(map(len, found.neighbours.values())) <= 2
    loose = within_degree(CHAIN, wanted, 9)
    assert {("a", "c"), ("a", "d"), ("a", "e")} <= set(loose.by_ends)
