"""What a design is limited by: how many links a node may have."""

from dataclasses import dataclass

import numpy as np

from regraft.design.matrix import Ints, Pairs


@dataclass(frozen=True)
class Room:
    """How many more links each node may take."""

    links: Ints

    @classmethod
    def of(cls, nodes: int, max_degree: int | None = None) -> "Room":
        return cls(np.full(nodes, nodes if max_degree is None else max_degree, np.int64))

    def without(self, pairs: Pairs) -> "Room":
        """What is left beside these links."""
        return Room(self.links - np.bincount(pairs.ravel(), minlength=len(self.links)))
