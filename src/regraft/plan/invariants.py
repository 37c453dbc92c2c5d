"""The invariants of a mesh that changes: predicates on the set of links, for `make_mesh_plan`.

k-topic-connected (kTCO §IV, Definition 1): for every topic, the brokers interested in it and the
links between them are k-connected, or all joined to each other if they are at most k.

Brokers that join or leave count as soon as, and as long as, a link of theirs is given; brokers in
both topologies (`stay`) always count.
"""

from collections.abc import Iterable, Mapping

import networkx as nx

from regraft.model import Ends
from regraft.plan.mesh_task import Keeps


def connected(stay: Iterable[str]) -> Keeps:
    """Every broker reaches every other."""
    always = frozenset(stay)

    def keeps(links: frozenset[Ends]) -> bool:
        return _is_connected(always.union(*links), links)

    return keeps


def k_topic_connected(interest: Mapping[str, frozenset[str]], k: int, stay: Iterable[str]) -> Keeps:
    """Every topic survives the failure of fewer than k of the brokers interested in it."""
    always = frozenset(stay)

    def keeps(links: frozenset[Ends]) -> bool:
        there = always.union(*links)
        return all(_is_k_connected(interested & there, links, k) for interested in interest.values())

    return keeps


def _is_k_connected(brokers: frozenset[str], links: frozenset[Ends], k: int) -> bool:
    within = frozenset(link for link in links if brokers.issuperset(link))
    if len(brokers) <= k:
        return len(within) == len(brokers) * (len(brokers) - 1) // 2
    if k == 1:
        return _is_connected(brokers, within)
    graph = nx.Graph()
    graph.add_nodes_from(brokers)
    graph.add_edges_from(within)
    if min(degree for _, degree in graph.degree) < k:
        return False
    return bool(nx.node_connectivity(graph) >= k)


def _is_connected(brokers: frozenset[str], links: frozenset[Ends]) -> bool:
    around: dict[str, list[str]] = {broker: [] for broker in brokers}
    for one, other in links:
        around[one].append(other)
        around[other].append(one)
    reached = list(brokers)[:1]
    seen = set(reached)
    for one in reached:
        new = [other for other in around[one] if other not in seen]
        seen.update(new)
        reached.extend(new)
    return len(seen) == len(brokers)
