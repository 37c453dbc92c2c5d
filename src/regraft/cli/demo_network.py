"""The demo's network: BICS, a European carrier, from the Internet Topology Zoo (data/LICENCE.md).

The overlay starts as it is often set up by hand, every site by the fewest hops to one hub, and
should become the tree with the least fibre: what all sites subscribe to then travels the shortest
way in total.
"""

import math
from dataclasses import replace
from importlib.resources import as_file, files

from regraft.cli.layout import breadth_first
from regraft.model import Broker, Ends, Link, Topology, ends
from regraft.model.topology_files import read_topology

EARTH_KM = 6371.0
KM_PER_MS = 200.0
"""Light in fibre."""


def network() -> Topology:
    """The carrier's cities and lines, each line with its latency; brokers are named by city."""
    with as_file(files("regraft.cli") / "data" / "Bics.graphml") as path:
        zoo = read_topology(path)
    city = {broker.id: broker.label or broker.id for broker in zoo.brokers}
    brokers = {broker.id: broker for broker in zoo.brokers}
    links = [
        Link(ends(city[one], city[other]), round(distance(brokers[one], brokers[other]) / KM_PER_MS, 3))
        for one, other in zoo.by_ends
    ]
    named = tuple(replace(broker, id=city[broker.id], label=None) for broker in zoo.brokers)
    return Topology(named, tuple(links), "mesh")


def distance(one: Broker, other: Broker) -> float:
    """Kilometres along the great circle."""
    coordinates = (one.latitude, one.longitude, other.latitude, other.longitude)
    la1, lo1, la2, lo2 = (math.radians(degrees or 0.0) for degrees in coordinates)
    chord = math.sin((la2 - la1) / 2) ** 2 + math.cos(la1) * math.cos(la2) * math.sin((lo2 - lo1) / 2) ** 2
    return 2 * EARTH_KM * math.asin(math.sqrt(chord))


def hub_tree(net: Topology) -> Topology:
    """Every broker by the fewest hops to the broker with the most lines."""
    hub = max(net.ids, key=lambda id: (len(net.neighbours[id]), id))
    order, parent = breadth_first(net, hub)
    return _tree(net, [ends(id, above) for id in order if (above := parent[id]) is not None])


def shortest_tree(net: Topology) -> Topology:
    """The least latency in total: take the shortest line that closes no cycle, again and again."""
    island = {id: id for id in net.ids}
    chosen: list[Ends] = []
    for link in sorted(net.links, key=lambda link: (link.latency_ms or 0.0, link.ends)):
        one, other = (island[end] for end in link.ends)
        if one != other:
            chosen.append(link.ends)
            island = {id: one if at == other else at for id, at in island.items()}
    return _tree(net, chosen)


def _tree(net: Topology, chosen: list[Ends]) -> Topology:
    return Topology(net.brokers, tuple(net.by_ends[pair] for pair in chosen), "tree")


def latency(tree: Topology) -> float:
    """Milliseconds over all links: what one publication to everybody costs."""
    return sum(link.latency_ms or 0.0 for link in tree.links)
