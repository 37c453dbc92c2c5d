"""Intents of healing as a goal topology: which links a deletion, an insertion or a shift means."""

from collections.abc import Iterable

from regraft.heal.repair import inserted, join, repaired
from regraft.model import BadInput, Broker, Infeasible, Topology, ends
from regraft.model.changes import changed
from regraft.model.intents import Add, Delete, Intent, ShiftAway, describe
from regraft.model.traffic import Traffic


def wanted_topology(
    topology: Topology, intents: Iterable[Intent], traffic: Traffic, max_degree: int | None
) -> Topology | str:
    """The topology that the Intents ask for, or why one of them cannot be carried out."""
    goal = topology
    for intent in intents:
        try:
            found = _after(goal, intent, traffic, max_degree)
        except BadInput as fault:
            return f"{describe(intent)}: {fault}"
        if isinstance(found, Infeasible):
            return f"{describe(intent)}: {found.reason}"
        goal = found
    return goal if goal.sha256 != topology.sha256 else "the topology is as it should be"


def _after(
    topology: Topology, intent: Intent, traffic: Traffic, max_degree: int | None
) -> Topology | Infeasible:
    match intent:
        case Delete(broker=broker):
            return _without(topology, broker, traffic, max_degree)
        case Add(broker=broker, between=between):
            if broker in topology.neighbours:
                return topology
            return inserted(topology, Broker(broker), between)
        case ShiftAway(broker=broker, neighbour=neighbour, to=to):
            return _shifted(topology, broker, neighbour, to)
    return Infeasible("it changes no links, so the loop cannot carry it out")


def _without(
    topology: Topology, broker: str, traffic: Traffic, max_degree: int | None
) -> Topology | Infeasible:
    if broker not in topology.neighbours:
        return topology
    if topology.kind == "mesh":
        left = tuple(each for each in topology.brokers if each.id != broker)
        return Topology(left, tuple(link for link in topology.links if broker not in link.ends), "mesh")
    found = join(topology, (broker,), traffic, max_degree=max_degree)
    return found if isinstance(found, Infeasible) else repaired(topology, (broker,), found)


def _shifted(topology: Topology, broker: str, neighbour: str, to: str) -> Topology | Infeasible:
    old, new = ends(neighbour, broker), ends(neighbour, to)
    if new in topology.by_ends:
        return topology
    if old not in topology.by_ends:
        return Infeasible(f"there is no link {broker} - {neighbour}")
    return changed(topology, (new,), (old,))
