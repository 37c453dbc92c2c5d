"""Compile the kernels once, so that the first plan does not wait for it: `python -m regraft.plan.warm`."""

from regraft.model import Limits, Topology
from regraft.plan import make_plan
from regraft.plan.problem import Problem
from regraft.plan.replan import Chain


def warm() -> None:
    """Plan something tiny with everything that is compiled; a proof ends it long before the time limit."""
    line = Topology.of([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])
    star = Topology.of([("a", "b"), ("a", "c"), ("a", "d"), ("a", "e")])
    make_plan(line, star, Limits(time_limit=120))
    three = Problem(("a", "b", "c"), frozenset({(0, 1), (1, 2)}), frozenset({(0, 2), (1, 2)}))
    Chain(three, [[(0, 1, 2)]], seed=0).run(1)


if __name__ == "__main__":
    warm()
