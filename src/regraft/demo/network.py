"""The demo's network: 24 cities of BICS, a European carrier, by the Internet Topology Zoo (data/LICENCE.md).

They are the cities for which COST 266 states demands, and Bratislava, without which they would not be
connected. A link costs the milliseconds that light takes in its fibre; a broker costs 0.1 ms. The overlay
starts as overlays are often set up by hand: every site is linked by the fewest hops to one hub.
"""

from dataclasses import replace
from importlib.resources import as_file, files

from regraft.demo.demands import demands
from regraft.model import Ends, Link, Topology, ends
from regraft.model.topology_files import read_topology
from regraft.serve.network_facts import NetworkFacts

BROKER_MS = 0.1
RELAY = "Bratislava"
SMALL = ("Frankfurt", "Paris", "London", "Brussels", "Amsterdam", "Strasbourg", "Zurich", "Milan")
"""The cities of `regraft demo --small`, and of tests."""


def network(cities: tuple[str, ...] = ()) -> Topology:
    """The cities as brokers and the lines between them; the cost of a line is its latency."""
    with as_file(files("regraft.demo") / "data" / "Bics.graphml") as path:
        zoo = read_topology(path)
    chosen = set(cities) or {*demands(), RELAY}
    names = {broker.id: broker.label or broker.id for broker in zoo.brokers}
    brokers = tuple(
        replace(broker, id=names[broker.id], label=None, cost=BROKER_MS)
        for broker in zoo.brokers
        if names[broker.id] in chosen
    )
    lines = [ends(names[one], names[other]) for one, other in zoo.by_ends]
    bare = Topology(brokers, tuple(Link(pair) for pair in lines if chosen.issuperset(pair)), "mesh")
    return Topology(brokers, tuple(map(_priced, NetworkFacts(_nowhere(bare)).annotated(bare).links)), "mesh")


def _nowhere(topology: Topology) -> Topology:
    """The brokers without links: then `annotated` derives every latency from the distance."""
    return Topology(topology.brokers, (), "mesh")


def _priced(line: Link) -> Link:
    latency = round(line.latency_ms or 0.0, 3)
    return replace(line, latency_ms=latency, cost=latency)


def hub_tree(net: Topology) -> Topology:
    """A tree that joins every city by the fewest hops to the one with the most lines."""
    hub = max(net.ids, key=lambda id: (len(net.neighbours[id]), id))
    chosen: list[Ends] = []
    known, waiting = {hub}, [hub]
    for one in waiting:
        for other in sorted(net.neighbours[one] - known):
            known.add(other)
            waiting.append(other)
            chosen.append(ends(one, other))
    return Topology(net.brokers, tuple(net.by_ends[pair] for pair in chosen), "tree")


def reachable(net: Topology) -> Topology:
    """All possible overlay links, each along the shortest path of lines: plans and repairs may use any."""
    links = tuple(
        Link(pair, latency_ms=round(1000 * seconds, 3), cost=round(1000 * seconds, 3))
        for pair, seconds in sorted(latencies(net).items())
    )
    return Topology(net.brokers, links, "mesh")


def latencies(net: Topology) -> dict[Ends, float]:
    """Seconds, one way, between any two brokers along the shortest path of lines (Floyd-Warshall)."""
    far = {id: {id: 0.0} for id in net.ids}
    for link in net.links:
        one, other = link.ends
        far[one][other] = far[other][one] = (link.latency_ms or 0.0) / 1000
    for between in net.ids:
        for one in net.ids:
            for other in net.ids:
                if between in far[one] and other in far[between]:
                    way = far[one][between] + far[between][other]
                    far[one][other] = min(way, far[one].get(other, way))
    return {ends(one, other): far[one][other] for one in net.ids for other in far[one] if one != other}
