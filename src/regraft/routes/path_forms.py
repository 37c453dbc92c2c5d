"""The three formulations of a path, and the ways between them (Content routes §4.1).

By vertices: a chain of switches of fixed length n that starts at the publisher's and ends at the
subscriber's, in which a switch may stand several times in a row (4.1)–(4.11). By edges: a matrix y over
switches, publisher and subscriber, without an order (4.12)–(4.18). Hybrid: the chain together with the
matrix over switches alone, the form that several paths share (4.19)–(4.20). `Path`, the edge numbers in
order, is what components exchange.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regraft.model import BadInput
from regraft.routes.problem import Graph, Path

Matrix = NDArray[np.int8]


@dataclass(frozen=True)
class VertexPath:
    """X_{p,s} = (x^1, …, x^n) (4.1)."""

    vertices: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class EdgePath:
    """y_{i,j} (4.12): rows and columns are the switches, then the publisher, then the subscriber."""

    matrix: Matrix


@dataclass(frozen=True, eq=False)
class HybridPaths:
    """The chains of one or more paths and the edges that they use together (4.19)–(4.20)."""

    chains: tuple[VertexPath, ...]
    matrix: Matrix


def vertices_of_path(graph: Graph, start: int, path: Path, length: int) -> VertexPath:
    """As a chain of `length` switches; the last one repeats, at no cost (4.7)."""
    chain = [start, *(graph.target_list[edge] for edge in path)]
    if len(chain) > length:
        raise BadInput("path", f"{len(chain)} switches do not fit into a chain of {length} (4.1)")
    return VertexPath((*chain, *[chain[-1]] * (length - len(chain))))


def cost_of_vertices(graph: Graph, chain: VertexPath) -> float:
    """c of consecutive switches (4.7)–(4.11): inf where no edge joins them, which makes a chain no path."""
    total = 0.0
    for one, other in zip(chain.vertices, chain.vertices[1:], strict=False):
        if one != other:
            total += min(_weights(graph, one, other), default=float("inf"))
    return total


def path_of_vertices(graph: Graph, chain: VertexPath) -> Path:
    """The lightest edges between consecutive switches."""
    edges = []
    for one, other in zip(chain.vertices, chain.vertices[1:], strict=False):
        if one != other:
            joining = [edge for edge in graph.leaving[one] if graph.target_list[edge] == other]
            if not joining:
                raise BadInput("path", f"no edge joins the switches {one} and {other} (4.10)")
            edges.append(min(joining, key=lambda edge: graph.weight_list[edge]))
    return tuple(edges)


def edges_of_path(graph: Graph, start: int, path: Path) -> EdgePath:
    """As a matrix, with the edge from the publisher (4.16) and the edge to the subscriber (4.17)."""
    size = graph.vertices
    matrix = np.zeros((size + 2, size + 2), dtype=np.int8)
    matrix[size, start] = 1
    matrix[graph.target_list[path[-1]] if path else start, size + 1] = 1
    for edge in path:
        matrix[graph.sources[edge], graph.targets[edge]] = 1
    return EdgePath(matrix)


def is_path(given: EdgePath) -> bool:
    """(4.16)–(4.18): an edge leaves the publisher, one enters the subscriber, all else is kept, no circle."""
    matrix, size = given.matrix, len(given.matrix) - 2
    out, into = matrix.sum(axis=1), matrix.sum(axis=0)
    if out[size] != 1 or into[size + 1] != 1 or into[size] or out[size + 1]:
        return False
    if (out[:size] != into[:size]).any() or (out[:size] > 1).any():
        return False
    return len(_chain(given)) == int(out[:size].sum())


def vertices_of_edges(given: EdgePath, length: int) -> VertexPath:
    """The order that the matrix does not say is found by following it from the publisher."""
    if not is_path(given):
        raise BadInput("path", "the matrix does not lead from the publisher to the subscriber (4.16)–(4.18)")
    chain = _chain(given)
    if len(chain) > length:
        raise BadInput("path", f"{len(chain)} switches do not fit into a chain of {length} (4.1)")
    return VertexPath((*chain, *[chain[-1]] * (length - len(chain))))


def edges_of_vertices(graph: Graph, chain: VertexPath) -> EdgePath:
    return edges_of_path(graph, chain.vertices[0], path_of_vertices(graph, chain))


def hybrid_of(graph: Graph, chains: Iterable[VertexPath]) -> HybridPaths:
    """Every pair of consecutive switches sets its edge; what is set already stays so (§4.1.3, §4.2)."""
    given = tuple(chains)
    matrix = np.zeros((graph.vertices, graph.vertices), dtype=np.int8)
    for chain in given:
        for one, other in zip(chain.vertices, chain.vertices[1:], strict=False):
            if one != other:
                matrix[one, other] = 1
    return HybridPaths(given, matrix)


def weight_of_hybrid(graph: Graph, given: HybridPaths) -> float:
    """Σ c_ij y_ij: an edge that several paths use counts once."""
    return sum(
        min(_weights(graph, int(one), int(other)), default=float("inf"))
        for one, other in np.argwhere(given.matrix)
    )


def _weights(graph: Graph, one: int, other: int) -> list[float]:
    return [graph.weight_list[edge] for edge in graph.leaving[one] if graph.target_list[edge] == other]


def _chain(given: EdgePath) -> Sequence[int]:
    matrix, size = given.matrix, len(given.matrix) - 2
    chain: list[int] = []
    at = int(np.argmax(matrix[size]))
    while at < size and len(chain) <= size:
        chain.append(at)
        at = int(np.argmax(matrix[at]))
    return chain
