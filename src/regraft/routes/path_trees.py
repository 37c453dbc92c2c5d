"""A tree for a publisher from the paths to its subscribers (Content routes §5.1.1, (5.9)–(5.15), §6.1).

`union_of_paths` takes the best path of every pair; `chosen_paths` chooses one path of each pair so that
together they weigh the least. If paths meet, separate and meet again, a switch is entered by two edges: of
all edges taken, only those of a shortest-path tree within them are kept.
"""

from collections.abc import Iterable, Sequence

import highspy
import numpy as np

from regraft.routes.interface import Tree
from regraft.routes.path_search import path_to, search
from regraft.routes.problem import Graph, Path

NOT_USED = 0.5


def union_of_paths(graph: Graph, root: int, paths: Sequence[tuple[Path, ...]]) -> Tree:
    """The best path of every terminal. Kind "trees"."""
    return as_tree(graph, root, [each[0] for each in paths if each])


def chosen_paths(graph: Graph, root: int, paths: Sequence[tuple[Path, ...]]) -> Tree:
    """One path of each pair, with the least weight of all edges together (5.11)–(5.15). Kind "trees"."""
    offered = [each for each in paths if each and each[0]]
    if all(len(each) == 1 for each in offered):
        return union_of_paths(graph, root, paths)
    edges = sorted({edge for each in offered for path in each for edge in path})
    column = {edge: place for place, edge in enumerate(edges)}
    program = highspy.Highs()
    program.setOptionValue("output_flag", False)
    program.setOptionValue("parallel", "off")
    none = np.empty(0, np.int32)
    for edge in edges:  # y_ij need not be declared an integer: (5.13) makes it one
        program.addCol(float(graph.weights[edge]), 0.0, 1.0, 0, none, np.empty(0))
    for each in offered:
        first = program.getNumCol()
        for _ in each:
            program.addCol(0.0, 0.0, 1.0, 0, none, np.empty(0))
            program.changeColIntegrality(program.getNumCol() - 1, highspy.HighsVarType.kInteger)  # (5.15)
        chosen = np.arange(first, first + len(each), dtype=np.int32)
        program.addRow(1.0, 1.0, len(each), chosen, np.ones(len(each)))  # (5.12)
        _use_edges(program, each, column, first)
    program.run()
    values = np.array(program.getSolution().col_value)
    taken, place = [], len(edges)
    for each in offered:
        best = int(np.argmax(values[place : place + len(each)]))
        taken.append(each[best])
        place += len(each)
    return as_tree(graph, root, taken)


def _use_edges(program: highspy.Highs, paths: Sequence[Path], column: dict[int, int], first: int) -> None:
    """(5.13) for one pair: an edge is used at least as much as the paths over it together."""
    over: dict[int, list[int]] = {}
    for place, path in enumerate(paths):
        for edge in path:
            over.setdefault(edge, []).append(first + place)
    for edge, choices in over.items():
        columns = np.array([column[edge], *choices], dtype=np.int32)
        values = np.array([1.0] + [-1.0] * len(choices))
        program.addRow(0.0, highspy.kHighsInf, len(columns), columns, values)


def as_tree(graph: Graph, root: int, paths: Iterable[Path]) -> Tree:
    """The shortest paths within these paths from the root to their ends."""
    given = [path for path in paths if path]
    edges = {edge for path in given for edge in path}
    targets = graph.target_list
    if len({targets[edge] for edge in edges}) == len(edges) and all(targets[edge] != root for edge in edges):
        return frozenset(edges)  # every switch is entered by one edge: it is a tree already
    within = graph.only(edges)
    above = search(within, root)
    ends = {targets[path[-1]] for path in given}
    return frozenset(edge for end in ends for edge in path_to(within, above, root, end) or ())
