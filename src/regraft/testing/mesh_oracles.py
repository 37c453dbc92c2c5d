"""kTCO's algorithms straight from their pseudocode, and optima by trying everything: slow and plain.

Ties are broken as in the fast versions: the pair that comes first in the given order of nodes wins.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import networkx as nx

Interest = Mapping[str, frozenset[str]]
Pair = tuple[str, str]


def induced(nodes: frozenset[str], links: Sequence[Pair]) -> nx.Graph:
    """G(t): the nodes interested in a topic and the links between them (kTCO §III)."""
    graph = nx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(link for link in links if nodes.issuperset(link))
    return graph


def is_k_topic_connected(links: Sequence[Pair], interest: Interest, k: int) -> bool:
    """kTCO §IV, Definition 1."""
    for nodes in interest.values():
        graph = induced(nodes, links)
        if len(nodes) <= k:
            if graph.number_of_edges() < len(nodes) * (len(nodes) - 1) // 2:
                return False
        elif nx.node_connectivity(graph) < k:
            return False
    return True


def plain_gm(nodes: Sequence[str], interest: Interest) -> list[Pair]:
    """Greedy Merge: the link that reduces the number of TC-components most, until none does (kTCO §IV)."""
    return _greedy(nodes, interest, nx.connected_components)


def plain_gm2(nodes: Sequence[str], interest: Interest) -> list[Pair]:
    """Alg. 1: the link with the highest estimate, until the overlay is 2-topic-connected (kTCO §V)."""
    return _greedy(nodes, interest, nx.biconnected_components)


def _greedy(
    nodes: Sequence[str], interest: Interest, parts: Callable[[nx.Graph], Iterable[set[str]]]
) -> list[Pair]:
    links: list[Pair] = []
    while True:
        together = [list(parts(induced(members, links))) for members in interest.values()]

        def estimate(pair: Pair, together: list[list[set[str]]] = together) -> int:
            return sum(
                members.issuperset(pair) and not any(part.issuperset(pair) for part in parts_of)
                for members, parts_of in zip(interest.values(), together, strict=True)
            )

        best = max((pair for pair in combinations(nodes, 2)), key=estimate, default=None)
        if best is None or estimate(best) == 0:
            return links
        links.append(best)


def plain_harary(nodes: Sequence[str], interest: Interest, k: int) -> set[frozenset[str]]:
    """Alg. 2: a Harary graph for every topic, over one sequence of the nodes (kTCO §VII)."""
    links: set[frozenset[str]] = set()
    for members in interest.values():
        sequence = [node for node in nodes if node in members]
        links |= {frozenset((sequence[i], sequence[j])) for i, j in build_harary(k, len(sequence))}
    return links


def build_harary(k: int, n: int) -> Iterator[tuple[int, int]]:
    """The links of H(k, n), the k-connected graph with the fewest; a clique if n ≤ k."""
    if n <= k:
        yield from combinations(range(n), 2)
    elif k == 1:
        yield from ((i, i + 1) for i in range(n - 1))
    else:
        for step in range(1, k // 2 + 1):
            yield from ((i, (i + step) % n) for i in range(n))
        if k % 2:  # diameters; with an odd n one node has two
            yield from ((i, (i + n // 2) % n) for i in range((n + 1) // 2))


def fewest_links(interest: Interest, k: int) -> int:
    """The optimum of MinAvg-kTCO, by trying all sets of links in ascending size."""
    useful = sorted({pair for members in interest.values() for pair in combinations(sorted(members), 2)})
    for size in range(len(useful) + 1):
        if any(is_k_topic_connected(links, interest, k) for links in combinations(useful, size)):
            return size
    raise AssertionError("all useful links together are a solution")
