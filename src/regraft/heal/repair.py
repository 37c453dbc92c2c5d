"""What replaces a dead broker: its neighbours are joined, as cheaply as the measured traffic allows. Pure.

Mimosa Pudica §4.3 joins the two neighbours of a broker on a path. In a tree a dead broker (or several dead
ones that were linked) has k living neighbours, and any of the k^(k−2) trees over them repairs the overlay.
Their costs are compared by OCBR's function (1). Only what happens between the neighbours differs: a traffic
class is the set of neighbours behind which it has members, so 1,000 brokers come down to k points (`gap`).

It stands here and not in `design`: it chooses among the links of one gap, within milliseconds, and knows
nothing of sweeps, tabu lists or time limits; `heal` may not import `design`, and both read the same values of
`model`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from regraft.heal.gap import gap_of
from regraft.heal.spanning import Tree, best_tree
from regraft.model import BadInput, Broker, Ends, Infeasible, Link, Topology, ends
from regraft.model.traffic import Traffic


@dataclass(frozen=True)
class Join:
    """New links between living brokers. `cost`: that of the traffic on them and at the brokers they join.

    `exact`: no other join is cheaper. That is proven if all links cost the same, and all joined brokers do.
    """

    links: tuple[Ends, ...]
    cost: float
    exact: bool


def join(
    topology: Topology,
    dead: Iterable[str],
    traffic: Traffic = (),
    *,
    costs: Mapping[Ends, float] | None = None,
    max_degree: int | None = None,
) -> Join | Infeasible:
    """The links that make one tree of the living again.

    `costs` has C_l of links that could be made; 1 if a link is missing there. Dead members of a class are
    ignored: their clients will connect elsewhere.
    """
    gone = _checked(topology, dead)
    if len(gone) == len(topology.ids):
        return Infeasible("no broker lives", proven=True)
    links: list[Ends] = []
    cost, exact = 0.0, True
    capacity = _capacities(topology, gone, max_degree)
    for group in _groups(topology, gone):
        gap = gap_of(topology, group, gone, traffic, costs or {}, capacity)
        found = best_tree(gap)
        if not isinstance(found, Tree):
            return found
        pairs = [ends(gap.names[i], gap.names[j]) for i, j in found.links]
        for pair in pairs:
            for end in pair:
                capacity[end] -= 1
        links += pairs
        cost += found.cost
        exact &= found.exact
    return Join(tuple(sorted(links)), cost, exact)


def repaired(topology: Topology, dead: Iterable[str], join: Join) -> Topology:
    """The tree of the living brokers, with the links of the join."""
    gone = _checked(topology, dead)
    brokers = tuple(broker for broker in topology.brokers if broker.id not in gone)
    kept = tuple(link for link in topology.links if not gone & set(link.ends))
    return Topology(brokers, kept + tuple(Link(pair) for pair in join.links), "tree")


def inserted(topology: Topology, broker: Broker, between: tuple[str, ...]) -> Topology | Infeasible:
    """The overlay with a new broker beside one, or in the middle of the link of two."""
    if broker.id in topology.neighbours:
        raise BadInput("broker", f"{broker.id!r} is in the overlay already")
    for each in between:
        if each not in topology.neighbours:
            raise BadInput("between", f"unknown broker id {each!r}")
    if not between:
        return Infeasible("no place is named for the new broker")
    if len(between) > 2 or (len(between) == 2 and ends(*between) not in topology.by_ends):
        return Infeasible(f"{' and '.join(between)} are not the two ends of a link", proven=True)
    old = {ends(*between)} if len(between) == 2 else set()
    kept = tuple(link for link in topology.links if link.ends not in old)
    new = tuple(Link(ends(broker.id, each)) for each in between)
    return Topology((*topology.brokers, broker), kept + new, "tree")


def _checked(topology: Topology, dead: Iterable[str]) -> frozenset[str]:
    if topology.kind != "tree":
        raise BadInput("kind", "a mesh needs no join: fewer than k failures leave every topic connected")
    gone = frozenset(dead)
    if unknown := sorted(gone - topology.neighbours.keys()):
        raise BadInput("dead", f"unknown broker id {unknown[0]!r}")
    return gone


def _capacities(topology: Topology, gone: frozenset[str], max_degree: int | None) -> dict[str, int]:
    """Links that each living broker may get."""
    most = len(topology.ids) if max_degree is None else max_degree
    near = topology.neighbours
    return {id: most - len(near[id] - gone) for id in topology.ids if id not in gone}


def _groups(topology: Topology, gone: frozenset[str]) -> list[frozenset[str]]:
    """Dead brokers that were linked leave one gap; each gap is closed by itself."""
    left, found = set(gone), []
    while left:
        group, waiting = set[str](), [min(left)]
        while waiting:
            broker = waiting.pop()
            if broker in left:
                left.discard(broker)
                group.add(broker)
                waiting += topology.neighbours[broker] & left
        found.append(frozenset(group))
    return found
