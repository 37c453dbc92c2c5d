"""The shortest path as a linear program (Content routes §5.1.1, (5.3)–(5.7)), solved by HiGHS.

The constraint matrix of (5.4)–(5.6) is that of a network flow, so the program without (5.7) has an integral
optimum, and no integer program is needed. Next-best paths come from the same program with one more constraint
for each path found (not all its edges again), which makes (5.7) necessary.
"""

from collections.abc import Sequence

import highspy
import numpy as np

from regraft.routes.path_search import path_to, search
from regraft.routes.problem import Graph, Path

NOT_USED = 0.5


def linear_paths(graph: Graph, pairs: Sequence[tuple[int, int]], count: int = 1) -> list[tuple[Path, ...]]:
    """Up to `count` paths for each pair, best first. Kind "paths"."""
    program = _program(graph)
    known: dict[tuple[int, int], tuple[Path, ...]] = {}
    for pair in pairs:
        if pair not in known:
            known[pair] = _solve(program, graph, *pair, count)
    return [known[pair] for pair in pairs]


def _program(graph: Graph) -> highspy.Highs:
    """(5.3) over the usable edges, with a row of (5.6) for every vertex: outflow minus inflow."""
    program = highspy.Highs()
    program.setOptionValue("output_flag", False)
    program.setOptionValue("parallel", "off")
    for _ in range(graph.vertices):
        program.addRow(0.0, 0.0, 0, np.empty(0, np.int32), np.empty(0))
    for edge in graph.edges.tolist():
        ends = np.array([graph.sources[edge], graph.targets[edge]], dtype=np.int32)
        program.addCol(float(graph.weights[edge]), 0.0, 1.0, 2, ends, np.array([1.0, -1.0]))
    return program


def _solve(program: highspy.Highs, graph: Graph, start: int, end: int, count: int) -> tuple[Path, ...]:
    if start == end:
        return ((),)
    program.changeRowBounds(start, 1.0, 1.0)  # (5.4)
    program.changeRowBounds(end, -1.0, -1.0)  # (5.5)
    found: list[Path] = []
    while len(found) < count:
        program.run()
        if program.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            break
        values = np.array(program.getSolution().col_value)
        used = graph.only(graph.edges[values > NOT_USED].tolist())
        path = path_to(graph, search(used, start), start, end)  # leaves out circles of edges of weight 0
        if path is None:
            break
        found.append(path)
        if len(found) < count:
            _exclude(program, graph, path, whole=len(found) == 1)
    if count > 1:
        for column in range(len(graph.edges)):
            program.changeColIntegrality(column, highspy.HighsVarType.kContinuous)
        if (extra := program.getNumRow() - graph.vertices) > 0:
            program.deleteRows(extra, np.arange(graph.vertices, graph.vertices + extra, dtype=np.int32))
    program.changeRowBounds(start, 0.0, 0.0)
    program.changeRowBounds(end, 0.0, 0.0)
    return tuple(found)


def _exclude(program: highspy.Highs, graph: Graph, path: Path, whole: bool) -> None:
    """Exclude all edges of this path together; with such rows, variables must be integers (5.7)."""
    if whole:
        for column in range(len(graph.edges)):
            program.changeColIntegrality(column, highspy.HighsVarType.kInteger)
    columns = np.searchsorted(graph.edges, np.array(path)).astype(np.int32)
    program.addRow(-highspy.kHighsInf, len(path) - 1.0, len(path), columns, np.ones(len(path)))
