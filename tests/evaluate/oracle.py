"""Brute force for the objectives: the spanning subtree by pruning leaves, everything else by networkx."""

from random import Random

import networkx as nx

from regraft.model import Broker, Link, Topology, ends
from regraft.model.traffic import TrafficClass


def graph_of(topology: Topology) -> nx.Graph:
    graph = nx.Graph()
    for broker in topology.brokers:
        graph.add_node(broker.id, cost=broker.cost)
    for link in topology.links:
        graph.add_edge(*link.ends, cost=link.cost, latency=link.latency_ms)
    return graph


def subtree(topology: Topology, members: frozenset[str]) -> nx.Graph:
    """ST_t: leaves that are not members are removed until there are none."""
    graph = graph_of(topology)
    while leaves := [node for node in graph if graph.degree(node) <= 1 and node not in members]:
        graph.remove_nodes_from(leaves)
    return graph


def random_tree(size: int, random: Random, whole: bool = True) -> Topology:
    """Costs and latencies at random; `whole` numbers, so that sums are exact."""

    def number() -> float:
        return float(random.randint(0, 9)) if whole else random.uniform(0, 9)

    links = [ends(f"b{child}", f"b{random.randrange(child)}") for child in range(1, size)]
    random.shuffle(links)
    return Topology(
        tuple(Broker(f"b{place}", cost=number()) for place in range(size)),
        tuple(Link(pair, latency_ms=number(), cost=number()) for pair in links),
    )


def random_classes(topology: Topology, count: int, random: Random) -> tuple[TrafficClass, ...]:
    return tuple(
        TrafficClass(
            frozenset(random.sample(topology.ids, random.randint(1, min(6, len(topology.ids))))),
            float(random.randint(0, 20)),
        )
        for _ in range(count)
    )


def random_mesh(size: int, density: float, random: Random) -> Topology:
    pairs = [(f"b{one}", f"b{two}") for one in range(size) for two in range(one + 1, size)]
    chosen = [ends(*pair) for pair in pairs if random.random() < density]
    return Topology(
        tuple(Broker(f"b{place}") for place in range(size)),
        tuple(Link(pair, latency_ms=float(random.randint(0, 9))) for pair in chosen),
        "mesh",
    )
