"""Problems for tests of OCBR, and the cost function straight from its definition."""

from itertools import pairwise
from random import Random

import networkx as nx
from hypothesis import strategies as st

from regraft.design.ocbr import Problem
from regraft.model import Broker, Link, Topology, ends
from regraft.model.traffic import TrafficClass


def plain_cost(problem: Problem, tree: Topology) -> float:
    """OCBR (1), class by class, on networkx: a subtree is a tree without the leaves that are not members."""
    whole = nx.Graph(tree.by_ends.keys())
    whole.add_nodes_from(tree.ids)
    costs = {broker.id: broker.cost for broker in problem.brokers}
    total = 0.0
    for members, demand in problem.traffic:
        part = whole.copy()
        while cut := [b for b in part if part.degree(b) <= 1 and b not in members and len(part) > 1]:
            part.remove_nodes_from(cut)
        links = sum(problem.link_cost.get(ends(*pair), 1.0) for pair in part.edges)
        brokers = sum(costs[b] for b in part)
        total += demand * (problem.alpha * links + problem.beta * brokers)
    return total


def random_problem(
    size: int, classes: int, seed: int, open: bool = False, alpha: float = 1.0, beta: float = 1.0
) -> tuple[Problem, Topology]:
    """A network (a random tree and some more links, or every pair) with random costs, and that tree."""
    rng = Random(seed)
    ids = [f"b{number}" for number in range(size)]
    rng.shuffle(ids)
    tree = [ends(ids[rng.randrange(number)], ids[number]) for number in range(1, size)]
    more = {ends(*rng.sample(ids, 2)) for _ in range(2 * size)} - set(tree) if size > 1 else set()
    links = tuple(Link(pair, cost=float(rng.randint(1, 9))) for pair in [*tree, *sorted(more)])
    brokers = tuple(Broker(id, cost=float(rng.randint(1, 4))) for id in ids)
    traffic = [
        TrafficClass(frozenset(rng.sample(ids, min(size, rng.randint(1, 4)))), float(rng.randint(1, 9)))
        for _ in range(classes)
    ]
    start = Topology(brokers, links[: size - 1])
    network = None if open else Topology(brokers, links, "mesh")
    return Problem.of(start, traffic, network, alpha, beta), start


def ring_problem(size: int, classes: int, seed: int) -> tuple[Problem, Topology]:
    """Brokers in a ring with possible links up to six places away; the tree follows the ring."""
    rng = Random(seed)
    ids = [f"b{number}" for number in range(size)]
    pairs = {ends(ids[a], ids[(a + d) % size]) for a in range(size) for d in range(1, 7)}
    network = Topology(tuple(Broker(id) for id in ids), tuple(Link(pair) for pair in sorted(pairs)), "mesh")
    traffic = []
    for _ in range(classes):
        centre, reach = rng.randrange(size), rng.choice((6, 12, size // 2))
        members = {ids[(centre + rng.randint(-reach, reach)) % size] for _ in range(rng.randint(2, 4))}
        traffic.append(TrafficClass(frozenset(members), float(rng.randint(1, 9))))
    tree = Topology.of(pairwise(ids))
    return Problem.of(tree, traffic, network), tree


@st.composite
def problems(draw: st.DrawFn, largest: int = 7) -> tuple[Problem, Topology]:
    """Small problems of every kind: few or many classes, with and without a network, α or β zero."""
    return random_problem(
        draw(st.integers(1, largest)),
        draw(st.integers(0, 12)),
        draw(st.integers(0, 10**6)),
        draw(st.booleans()),
        *draw(st.sampled_from([(1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.5, 2.0)])),
    )
