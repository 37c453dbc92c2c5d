"""Incremental repair: nodes and subscriptions came or went, and as few links as possible change.

Links between nodes that still share a topic stay; topics whose nodes changed are mended cut by cut, and what
has become redundant is removed. How far this may drift is bounded: `excess` is the number of links divided by
the proven lower bound for the current interest. Above (1 + drift) times the excess of the last fresh design
(`reference`), the overlay is designed anew, and the better of the two is kept. So an overlay never has more
than (1 + drift) · reference times the links of any other overlay, a fresh design included, with the reference
that is returned. It is not promised to be within `drift` of a fresh design, which may be nearer to the bound
now than the last one was.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from regraft.design.explain import fewest_possible
from regraft.design.matrix import Interests
from regraft.design.mend import mended
from regraft.design.mesh import MeshOptions, checked_interest, design_mesh
from regraft.design.prune import prune
from regraft.design.terms import Terms, prices_between
from regraft.model import Ends, Infeasible, Topology

Interest = Mapping[str, Iterable[str]]


@dataclass(frozen=True)
class Repaired:
    """`excess` of this overlay, `reference`: that of the last fresh design, to pass to the next repair."""

    topology: Topology
    added: frozenset[Ends]
    removed: frozenset[Ends]
    excess: float
    reference: float
    fresh: bool


def excess(topology: Topology, interest: Interest, k: int) -> float:
    """Links divided by the proven lower bound: at most this factor above the fewest links."""
    return len(topology.links) / max(1, fewest_possible(Interests.of(interest).matrix, k))


def repair(
    topology: Topology,
    before: Interest,
    after: Interest,
    k: int,
    reference: float,
    drift: float = 0.1,
    options: MeshOptions = MeshOptions(),  # noqa: B008 (frozen)
) -> Repaired | Infeasible:
    """An overlay for the interest `after`, from one that is k-topic-connected for the interest `before`."""
    interests = checked_interest(after, options.seed)
    terms = Terms(len(interests.nodes), options.max_degree)
    if options.latency:
        terms = Terms(terms.nodes, options.max_degree, prices_between(interests.nodes, options.latency))
    changed = [t for t, name in enumerate(interests.topics) if set(before.get(name, ())) != set(after[name])]
    links = interests.pairs(_kept(topology, after))
    found = mended(interests.matrix, links, k, terms, np.array(changed, np.int64))
    if isinstance(found, Infeasible):
        return found
    repaired = interests.topology(prune(interests.matrix, found, k, terms))
    now = excess(repaired, after, k)
    if now <= (1 + drift) * reference:
        return _compared(topology, repaired, now, reference, fresh=False)
    design = design_mesh(after, "greedy-k", MeshOptions(**{**options.__dict__, "k": k}))
    if isinstance(design, Infeasible) or len(design.links) >= len(repaired.links):
        return _compared(topology, repaired, now, now, fresh=False)
    anew = excess(design.topology, after, k)
    return _compared(topology, design.topology, anew, anew, fresh=True)


def _kept(topology: Topology, interest: Interest) -> list[Ends]:
    """The links that serve a topic."""
    topics: dict[str, set[str]] = {}
    for topic, nodes in interest.items():
        for name in nodes:
            topics.setdefault(name, set()).add(topic)
    nothing: set[str] = set()
    return [
        link
        for link in topology.by_ends
        if not topics.get(link[0], nothing).isdisjoint(topics.get(link[1], nothing))
    ]


def _compared(before: Topology, after: Topology, now: float, reference: float, *, fresh: bool) -> Repaired:
    here, there = frozenset(before.by_ends), frozenset(after.by_ends)
    return Repaired(after, there - here, here - there, now, reference, fresh)
