"""Intents of healing as goal topologies."""

from itertools import pairwise

from regraft.loop.repairing import wanted_topology
from regraft.model import Topology
from regraft.model.intents import Add, Delete, MoveClients, ShiftAway

CHAIN = Topology.of(pairwise("abcdef"))


def test_what_healing_wants_becomes_a_topology() -> None:
    def after(*intents: object) -> Topology | str:
        return wanted_topology(CHAIN, intents, (), None)  # type: ignore[arg-type]

    gone = after(Delete(broker="c"))
    assert isinstance(gone, Topology)
    assert ("b", "d") in gone.by_ends
    more = after(Add(broker="x", between=("a", "b")), Delete(broker="f"))
    assert isinstance(more, Topology)
    assert {("a", "x"), ("b", "x")} <= set(more.by_ends)
    shifted = after(ShiftAway(broker="b", neighbour="a", to="c"))
    assert isinstance(shifted, Topology)
    assert ("a", "c") in shifted.by_ends


def test_a_broker_that_leaves_a_mesh_takes_only_its_own_links_along() -> None:
    ring = Topology.of([*pairwise("abcdef"), ("a", "f")], kind="mesh")
    gone = wanted_topology(ring, [Delete(broker="c")], (), None)
    assert gone == Topology.of([("a", "b"), ("d", "e"), ("e", "f"), ("a", "f")], kind="mesh")


def test_an_intent_that_cannot_be_carried_out_is_refused_with_a_reason() -> None:
    def after(intent: object) -> Topology | str:
        return wanted_topology(CHAIN, [intent], (), None)  # type: ignore[list-item]

    assert "there is no link b - e" in str(after(ShiftAway(broker="b", neighbour="e", to="c")))
    assert "changes no links" in str(after(MoveClients(broker="a", to="b")))
    assert after(Delete(broker="zz")) == "the topology is as it should be"
    assert "unknown broker" in str(after(Add(broker="x", between=("q",))))
