"""Loads the compiled functions, so that a clock that starts afterwards measures the work alone.

`python -m regraft.design.ocbr.warm` compiles them once; later runs load them from the cache.
"""

from regraft.design.ocbr.effort import Effort
from regraft.design.ocbr.problem import Problem
from regraft.design.ocbr.propose import METHODS, propose_tree
from regraft.model import Broker, Link, Topology
from regraft.model.traffic import TrafficClass


def warm() -> None:
    """Every method on a ring of brokers, with few classes and with many."""
    ids = [f"b{number}" for number in range(8)]
    ring = [(ids[k], ids[(k + 1) % 8]) for k in range(8)]
    links = tuple(Link((min(pair), max(pair)), cost=1.0 + k) for k, pair in enumerate(ring))
    network = Topology(tuple(Broker(id) for id in ids), links, "mesh")
    tree = Topology(network.brokers, links[:-1])
    for step in (1, 3):
        classes = [
            TrafficClass(frozenset((ids[a], ids[(a + d) % 8], ids[(a + 1) % 8])), 1.0 + a)
            for a in range(8)
            for d in range(1, 4, step)
        ]
        problem = Problem.of(tree, classes, network)
        for method in METHODS:
            propose_tree(problem, tree, method, effort=Effort(moves=200))
        propose_tree(problem, tree, "global", 1, Effort(moves=200))
    propose_tree(Problem.of(tree, classes), tree, "global", effort=Effort(moves=50))


if __name__ == "__main__":
    warm()
