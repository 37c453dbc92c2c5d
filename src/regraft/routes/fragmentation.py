"""Fragments: a sub graph in parts small enough to be optimised one by one (Content routes §5.3.3, §6.6).

The switches are divided into blocks. Edges of the current trees that lead from one block to another stay:
there is a virtual publisher where one ends and a virtual subscriber where one begins, and between them each
block may find better paths. A tree can run through a block in several pieces; if two of them were changed
they could meet, and an event would arrive twice. So only the heaviest piece of each tree in a block is
changed; the others stay, and their switches are closed to it. Path limits are shared out: each piece may use
as many edges as now and its share of those left over.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from regraft.routes.interface import Fragment, Fragmentation, Tree
from regraft.routes.problem import Demand, Graph
from regraft.routes.spectrum import leading_vectors


def whole(
    graph: Graph, demands: Sequence[Demand], trees: Sequence[Tree], size: int, turn: int = 0
) -> Fragmentation:
    """One fragment with everything in it."""
    part_of = tuple(range(len(demands)))
    return Fragmentation((Fragment(graph, tuple(demands), part_of),), (frozenset(),) * len(demands))


def in_parts(
    graph: Graph, demands: Sequence[Demand], trees: Sequence[Tree], size: int, turn: int = 0
) -> Fragmentation:
    """Fragments of at most `size` switches each; in every second turn one less, so that they differ."""
    block = blocks(graph, trees, max(size - turn % 2, min(size, 2)))
    found: dict[tuple[int, frozenset[int]], list[tuple[int, Demand]]] = {}
    fixed: list[frozenset[int]] = []
    for number, (demand, tree) in enumerate(zip(demands, trees, strict=True)):
        stays = {e for e in tree if block[graph.source_list[e]] != block[graph.target_list[e]]}
        pieces = _pieces(graph, demand, tree, stays)
        for piece in _kept(graph, pieces, block):
            stays |= piece.edges
        for piece in pieces:
            if piece.edges and not piece.edges <= stays:
                here = block[min(piece.vertices)]
                closed = frozenset(
                    vertex
                    for other in pieces
                    if other is not piece and block[min(other.vertices)] == here
                    for vertex in other.vertices
                )
                found.setdefault((here, closed), []).append((number, _demand(graph, demand, tree, piece)))
        fixed.append(frozenset(stays))
    members: dict[int, set[int]] = {}
    for vertex, here in enumerate(block):
        members.setdefault(here, set()).add(vertex)
    fragments = [
        Fragment(
            graph.among(members[here] - closed),
            tuple(demand for _, demand in parts),
            tuple(number for number, _ in parts),
        )
        for (here, closed), parts in sorted(found.items(), key=lambda item: (item[0][0], sorted(item[0][1])))
    ]
    return Fragmentation(tuple(fragments), tuple(fixed))


class _Piece(NamedTuple):
    """A connected part of a tree inside one block."""

    vertices: frozenset[int]
    edges: frozenset[int]
    roots: tuple[int, ...]
    ends: tuple[int, ...]


def _pieces(graph: Graph, demand: Demand, tree: Tree, between: Iterable[int]) -> list[_Piece]:
    """Roots are those of the demand and where edges come in; ends its terminals and where edges leave."""
    crossing = set(between)
    at = sorted({*demand.roots, *demand.terminals} | {v for e in tree for v in _ends(graph, e)})
    places = {vertex: place for place, vertex in enumerate(at)}
    inside = [edge for edge in tree if edge not in crossing]
    links = np.array([[places[v] for v in _ends(graph, e)] for e in inside], dtype=np.int64).reshape(-1, 2)
    relation = coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(len(at), len(at)))
    count, labels = connected_components(relation, directed=False)
    vertices: list[set[int]] = [set() for _ in range(count)]
    for vertex, label in zip(at, labels.tolist(), strict=True):
        vertices[label].add(vertex)
    roots = {*demand.roots, *(graph.target_list[edge] for edge in crossing)}
    ends = {*demand.terminals, *(graph.source_list[edge] for edge in crossing)}
    return [
        _Piece(
            frozenset(members),
            frozenset(edge for edge in inside if graph.source_list[edge] in members),
            tuple(sorted(roots & members)),
            tuple(sorted(ends & members)),
        )
        for members in vertices
    ]


def _ends(graph: Graph, edge: int) -> tuple[int, int]:
    return graph.source_list[edge], graph.target_list[edge]


def _kept(graph: Graph, pieces: Sequence[_Piece], block: Sequence[int]) -> list[_Piece]:
    """All but the heaviest piece of each block."""
    heaviest: dict[int, _Piece] = {}
    for piece in pieces:
        here = block[min(piece.vertices)]
        if here not in heaviest or graph.weigh(piece.edges) > graph.weigh(heaviest[here].edges):
            heaviest[here] = piece
    return [piece for piece in pieces if heaviest[block[min(piece.vertices)]] is not piece]


def _demand(graph: Graph, demand: Demand, tree: Tree, piece: _Piece) -> Demand:
    rates = demand.rates if piece.roots == demand.roots else ()
    return Demand(piece.roots, piece.ends, demand.rate, _hops(graph, demand, tree, piece), rates)


def _hops(graph: Graph, demand: Demand, tree: Tree, piece: _Piece) -> tuple[int | None, ...]:
    """For each end of the piece: how many edges away from the piece's roots it may be. That is the current
    number and its share of the edges that the limits leave over.

    With several roots nothing is added: paths cross a piece in many directions.
    """
    if not any(limit is not None for limit in demand.hops):
        return ()
    now = [max(_depths(graph, piece.edges, root).get(end, 0) for root in piece.roots) for end in piece.ends]
    if len(demand.roots) > 1:
        return tuple(now)
    depth = _depths(graph, tree, demand.roots[0])
    limits = dict(zip(demand.terminals, demand.hops, strict=True))
    spare = []
    for end in piece.ends:
        below = _depths(graph, tree, end)
        slack = [
            (limit - depth[vertex]) // (depth[vertex] + 1)
            for vertex in below
            if (limit := limits.get(vertex)) is not None and vertex in depth
        ]
        spare.append(min(slack, default=None))
    return tuple(
        None if more is None else edges + max(more, 0) for edges, more in zip(now, spare, strict=True)
    )


def _depths(graph: Graph, edges: Iterable[int], root: int) -> dict[int, int]:
    """How many edges each vertex that events reach is away from the root."""
    leaving: dict[int, list[int]] = {}
    for edge in edges:
        leaving.setdefault(graph.source_list[edge], []).append(graph.target_list[edge])
    depth, order = {root: 0}, [root]
    for vertex in order:
        for after in leaving.get(vertex, ()):
            if after not in depth:
                depth[after] = depth[vertex] + 1
                order.append(after)
    return depth


def blocks(graph: Graph, trees: Sequence[Tree], size: int) -> list[int]:
    """Vertex -> its block. Blocks are cut where few trees cross, so that there are few intermediate points.

    Every set that is too large is halved along the second eigenvector of its Laplacian, where cables that
    many trees use keep their ends close together.
    """
    weight = np.zeros((graph.vertices, graph.vertices))
    np.add.at(weight, (graph.sources[graph.edges], graph.targets[graph.edges]), 1.0)
    for tree in trees:
        used = np.fromiter(tree, dtype=np.int64)
        np.add.at(weight, (graph.sources[used], graph.targets[used]), 4.0)
    weight += weight.T
    count, labels = connected_components(coo_array(weight), directed=False)
    waiting = [np.flatnonzero(labels == label) for label in range(count)]
    block = [0] * graph.vertices
    done = 0
    while waiting:
        members = waiting.pop()
        if len(members) <= max(size, 1):
            for vertex in members.tolist():
                block[vertex] = done
            done += 1
        else:
            waiting += _halves(weight, members)
    return block


def _halves(weight: NDArray[np.float64], members: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    inside = weight[np.ix_(members, members)]
    laplacian = np.diag(inside.sum(axis=1)) - inside
    # `leading_vectors` finds the largest eigenvalues; those of c·I − L are the smallest of the Laplacian L.
    turned = 2.0 * laplacian.max() * np.eye(len(members)) - laplacian
    order = np.argsort(leading_vectors(turned, 2)[:, 0], kind="stable")
    middle = len(members) // 2
    return [members[np.sort(order[:middle])], members[np.sort(order[middle:])]]
