"""Small interests for the tests of the mesh designers."""

import numpy as np
from hypothesis import strategies as st

from regraft.design.matrix import Interests

NODES = tuple(f"n{number:02}" for number in range(14))


@st.composite
def interests(draw: st.DrawFn, most: int = 12, topics: int = 5) -> dict[str, frozenset[str]]:
    """At most this many nodes and topics, at least one of each; topics of any size, also of one node."""
    nodes = NODES[: draw(st.integers(1, most))]
    members = st.frozensets(st.sampled_from(nodes), min_size=1)
    return {f"t{number}": draw(members) for number in range(draw(st.integers(1, topics)))}


def random_interest(nodes: int, topics: int, subscriptions: int, seed: int = 0) -> dict[str, frozenset[str]]:
    random = np.random.default_rng(seed)
    wanted: dict[str, set[str]] = {}
    for v in range(nodes):
        for t in random.choice(topics, subscriptions, replace=False):
            wanted.setdefault(f"t{t}", set()).add(f"v{v:03}")
    return {topic: frozenset(members) for topic, members in wanted.items()}


def by_name(numbered: Interests, pairs: np.ndarray) -> list[tuple[str, str]]:
    return [(numbered.nodes[v], numbered.nodes[w]) for v, w in pairs.tolist()]
