"""Meshes: interest in, a k-topic-connected overlay out, with the number of links after each stage.

First runs the published algorithm of the given name (kTCO §IV–VIII). Then, unless `faithful` is set,
come our improvements: a better sequence for HararyPT, redundant links removed, links exchanged.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from regraft.design.cycle import cycle
from regraft.design.divide import PART, divided
from regraft.design.explain import links_needed
from regraft.design.gm import gm
from regraft.design.gm2 import gm2
from regraft.design.greedy_k import greedy_k
from regraft.design.harary import harary
from regraft.design.improve import EFFORT, improve
from regraft.design.matrix import Interests, Matrix, Pairs
from regraft.design.mend import fitted, mended
from regraft.design.prune import prune
from regraft.design.sequence import arbitrary_sequence, similar_sequence
from regraft.design.terms import MOST_SUBSCRIPTIONS, Terms, prices_between
from regraft.model import BadInput, Ends, Infeasible, Topology

FIXED_K = {"gm": 1, "gm2": 2, "cycle": 2}
METHODS = ("gm", "gm2", "harary", "cycle", "greedy-k")
MOST_NODES = 45_000
"""A larger input is divided into parts: the worth of links takes two bytes for each pair of nodes."""


@dataclass(frozen=True)
class MeshOptions:
    """`k` None: the k that the method is for, or 2 if it is for any. `latency`: that of a network's links."""

    k: int | None = None
    max_degree: int | None = None
    latency: Mapping[Ends, float] = field(default_factory=dict)
    seed: int = 0
    effort: float = EFFORT
    faithful: bool = False
    part: int | None = None
    """Divide and conquer: design parts of this many nodes, then an overlay that joins them."""


@dataclass(frozen=True)
class Stage:
    """What was done, and how many links there were afterwards."""

    name: str
    links: int


@dataclass(frozen=True)
class MeshDesign:
    """An overlay and how it came about."""

    method: str
    k: int
    interests: Interests
    links: Pairs
    terms: Terms
    stages: tuple[Stage, ...]

    @property
    def topology(self) -> Topology:
        return self.interests.topology(self.links)


Progress = Callable[[str, float, int], bool]
"""Called with the stage, the share of it that is done and the number of links; True ends the stage early."""


def design_mesh(
    interest: Mapping[str, Iterable[str]],
    method: str,
    options: MeshOptions,
    progress: Progress = lambda stage, done, links: False,
) -> MeshDesign | Infeasible:
    """A k-topic-connected overlay. Topics of at most k nodes become cliques."""
    k = checked_k(method, options.k)
    interests = checked_interest(interest, options.seed)
    prices = prices_between(interests.nodes, options.latency) if options.latency else None
    nodes = len(interests.nodes)
    terms = Terms(nodes, options.max_degree) if prices is None else Terms(nodes, options.max_degree, prices)
    if no := _beyond(interests, k, options.max_degree):
        return no
    progress(method, 0.0, 0)
    part = options.part or (PART if nodes > MOST_NODES and method in ("gm", "gm2", "greedy-k") else None)
    links = construct(interests.matrix, method, k, terms, options, part)
    if isinstance(links, Infeasible):
        return links
    stages = [Stage(method if part is None else f"{method}, in parts of {part}", len(links))]
    if not options.faithful:
        links = improve(interests.matrix, links, k, terms, options.seed, 0)
        stages.append(Stage("redundant links removed", len(links)))
    if not options.faithful and options.effort:
        links = improve(
            interests.matrix,
            links,
            k,
            terms,
            options.seed,
            options.effort,
            lambda done, count: progress("links exchanged", done, count),
        )
        stages.append(Stage("links exchanged", len(links)))
    return MeshDesign(method, k, interests, links, terms, tuple(stages))


def beside(design: Topology, now: Topology) -> Topology:
    """The mesh that runs, with the links of the design between the brokers that the design is about.

    Brokers that want no topic are in no design, and keep their links.
    """
    known = set(design.ids)
    if unknown := sorted(known - set(now.ids)):
        raise BadInput("--interest", f"unknown broker id {unknown[0]!r}")
    aside = tuple(link for link in now.links if not known.issuperset(link.ends))
    return Topology(now.brokers, (*design.links, *aside), "mesh")


def _beyond(interests: Interests, k: int, max_degree: int | None) -> Infeasible | None:
    """Infeasible if some node needs more links than it may have."""
    if max_degree is None:
        return None
    needed = links_needed(interests.matrix, k)
    most = int(needed.argmax())
    if needed[most] <= max_degree:
        return None
    name = interests.nodes[most]
    return Infeasible(f"node {name!r} needs {needed[most]} links at least", "max-degree", name, proven=True)


def construct(
    matrix: Matrix, method: str, k: int, terms: Terms, options: MeshOptions, part: int | None = None
) -> Pairs | Infeasible:
    """The overlay that the named algorithm makes, completed where a limit on the degree left it weak."""
    random = np.random.default_rng(options.seed)
    if part is not None and part < terms.nodes:

        def one(inner: Matrix, inner_terms: Terms) -> Pairs | Infeasible:
            return construct(inner, method, k, inner_terms, options)

        links = divided(matrix, k, terms, part, one)
    elif method == "gm":
        links = gm(matrix, terms)
    elif method == "gm2":
        links = gm2(matrix, terms)
    elif method == "cycle":
        links = cycle(matrix, random)
    elif method == "harary":
        faithful = options.faithful
        links = harary(
            matrix, k, arbitrary_sequence(matrix, random) if faithful else similar_sequence(matrix, k)
        )
    elif method == "greedy-k":
        links = greedy_k(matrix, k, terms)
    else:
        raise ValueError(f"no algorithm is called {method!r}")
    if isinstance(links, Infeasible) or terms.max_degree is None:
        return links
    return mended(matrix, fitted(matrix, prune(matrix, links, k, terms), terms), k, terms)


def _any_k() -> str:
    return " and ".join(method for method in METHODS if method not in FIXED_K)


def checked_k(method: str, k: int | None) -> int:
    if method not in METHODS:
        raise BadInput("method", f"unknown method {method!r}, choose one of {', '.join(METHODS)}")
    fixed = FIXED_K.get(method)
    if k is None:
        return fixed or 2
    if fixed is not None and k != fixed:
        raise BadInput("k", f"{method} designs for k = {fixed}, not {k}; {_any_k()} for any k")
    if k < 1:
        raise BadInput("k", f"must be at least 1, not {k}")
    return k


def checked_interest(interest: Mapping[str, Iterable[str]], seed: int) -> Interests:
    interests = Interests.of(interest, seed=seed)
    if not interests.nodes:
        raise BadInput("interest", "is empty: no node wants any topic")
    sizes = np.diff(interests.matrix.node_start)
    if sizes.max() > MOST_SUBSCRIPTIONS:
        name = interests.nodes[int(sizes.argmax())]
        raise BadInput(
            "interest", f"node {name!r} wants {sizes.max()} topics, at most {MOST_SUBSCRIPTIONS} can be"
        )
    return interests
