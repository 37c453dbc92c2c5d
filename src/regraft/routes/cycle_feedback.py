"""Cycles of a shared sub graph go back into its program as constraints (Content routes §5.3.2)."""

from regraft.routes.interface import Tree
from regraft.routes.problem import Cycle, Demand, Graph
from regraft.routes.registry import component
from regraft.routes.settings import Settings
from regraft.routes.stopwatch import Stopwatch

MOST_TURNS = 12
"""Then the tree of the Steiner component is taken, which has no cycle by construction."""


def without_cycles(
    graph: Graph, demand: Demand, tree: Tree, settings: Settings, watch: Stopwatch
) -> Tree | None:
    """A tree for all roots in which no event loops or arrives twice; the search for it has a time limit."""
    began = watch.clock()
    detect, optimise = component("cycles", settings.cycles), component("subgraph", settings.subgraph)
    forbidden: list[Cycle] = []
    found: Tree | None = tree
    for _ in range(MOST_TURNS):
        if found is None or watch.clock() - began > settings.time_limit:
            break
        with watch.timing("cycles"):
            cycles = detect(graph, found)
        if not cycles:
            return found
        new = [cycle for cycle in cycles if cycle not in forbidden]
        if not new:  # the component does not listen
            break
        forbidden += new
        with watch.timing("subgraph again"):
            found = optimise(graph, [demand], forbidden, settings)[0]
    (last,) = component("subgraph", "steiner")(graph, [demand], (), settings)
    return last if last is None or not detect(graph, last) else None
