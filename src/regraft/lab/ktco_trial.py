"""One design on one workload of kTCO §VIII, measured."""

from time import perf_counter
from typing import NamedTuple

import numpy as np

from regraft.design.cycle import cycle
from regraft.design.gm import gm
from regraft.design.gm2 import gm2
from regraft.design.greedy_k import greedy_k
from regraft.design.harary import harary
from regraft.design.improve import improve
from regraft.design.matrix import Matrix, Pairs
from regraft.design.sequence import arbitrary_sequence
from regraft.design.shape import topic_diameters
from regraft.design.terms import Terms
from regraft.lab.ktco_workload import named, workload
from regraft.model import Infeasible, Topology

PUBLISHED = ("GM", "GM2", "HararyPT", "CyclePT")
OURS = "greedy-k"
"""greedy-k, then redundant links removed and links exchanged."""


class Trial(NamedTuple):
    """A point of a figure: the workload, the algorithm and its k."""

    distribution: str
    nodes: int
    topics: int
    subscriptions: int
    algorithm: str
    k: int
    seed: int = 0


class Measured(NamedTuple):
    """The largest and the average topic diameter are 0 if they were not measured."""

    links: int
    degree: float
    seconds: float
    largest_diameter: int = 0
    average_diameter: float = 0.0


def design(matrix: Matrix, algorithm: str, k: int, seed: int) -> Pairs:
    """The overlay of a published algorithm, or ours."""
    terms = Terms(matrix.node_start.size - 1)
    random = np.random.default_rng(seed)
    if algorithm == "GM":
        return gm(matrix, terms)
    if algorithm == "GM2":
        return gm2(matrix, terms)
    if algorithm == "CyclePT":
        return cycle(matrix, random)
    if algorithm == "HararyPT":
        return harary(matrix, k, arbitrary_sequence(matrix, random))
    links = greedy_k(matrix, k, terms)
    assert not isinstance(links, Infeasible), "without a limit there is always a design"
    return improve(matrix, links, k, terms, seed)


def measure(trial: Trial, diameters: bool = False) -> Measured:
    matrix = workload(trial.distribution, trial.nodes, trial.topics, trial.subscriptions, trial.seed)
    began = perf_counter()
    links = design(matrix, trial.algorithm, trial.k, trial.seed)
    seconds = perf_counter() - began
    result = Measured(len(links), 2 * len(links) / trial.nodes, seconds)
    if not diameters:
        return result
    hops = [
        far for far in topic_diameters(overlay(links, trial.nodes), named(matrix)).values() if far is not None
    ]
    return result._replace(largest_diameter=max(hops), average_diameter=sum(hops) / len(hops))


def overlay(links: Pairs, nodes: int) -> Topology:
    """The links as a topology, with the names that `named` gives the workload's nodes."""
    pairs = [(f"n{v:06}", f"n{w:06}") for v, w in links.tolist()]
    return Topology.of(pairs, [f"n{v:06}" for v in range(nodes)], "mesh")
