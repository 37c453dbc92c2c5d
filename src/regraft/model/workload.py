"""What an overlay is judged by: the traffic it carries, and which nodes are interested in which topics."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from regraft.model.traffic import Traffic

Interest = Mapping[str, frozenset[str]]
"""Topic → the nodes interested in it (kTCO §III, Int)."""


@dataclass(frozen=True)
class Workload:
    """Either part may be missing: trees are judged by traffic, meshes by interest."""

    traffic: Traffic = ()
    interest: Interest = field(default_factory=dict)
