"""One topology and one workload; what several objectives need is computed once."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse
import scipy.sparse.csgraph

from regraft.model import BadInput, Topology
from regraft.model.spans import Spans
from regraft.model.tree_index import TreeIndex
from regraft.model.workload import Workload

SOURCES = 256
"""How many searches run together: all their distances are in memory."""


class Topic(NamedTuple):
    """The sub-overlay G^(t) that a topic induces (kTCO §III): links between brokers interested in it."""

    name: str
    brokers: tuple[str, ...]
    links: Any
    """A symmetric sparse matrix over `brokers`: each link's place in the topology, plus 1 (0 is no link)."""

    def distances(self, links: Any, unweighted: bool = False) -> Iterator[npt.NDArray[np.float64]]:
        """Shortest distances from all brokers over a matrix like `links`, some rows at a time."""
        for start in range(0, len(self.brokers), SOURCES):
            sources = np.arange(start, min(start + SOURCES, len(self.brokers)))
            yield scipy.sparse.csgraph.dijkstra(links, indices=sources, unweighted=unweighted)


@dataclass(frozen=True)
class Case:
    """`alpha` and `beta` weigh links against brokers in OCBR's cost function (1)."""

    topology: Topology
    workload: Workload
    alpha: float = 1.0
    beta: float = 1.0

    @cached_property
    def index(self) -> TreeIndex:
        return TreeIndex.of(self.topology)

    @cached_property
    def spans(self) -> Spans:
        return Spans.of(self.index, self.workload.traffic)

    @cached_property
    def has_traffic(self) -> bool:
        """OCBR's model is for trees; in a mesh, a class alone does not say which paths its messages take."""
        return self.topology.kind == "tree" and bool(self.workload.traffic)

    def topics(self) -> Iterator[Topic]:
        """The topics by name. `BadInput` if a node of the interest is not a broker."""
        number = {id: place for place, id in enumerate(self.topology.ids)}
        for name, nodes in sorted(self.workload.interest.items()):
            brokers = tuple(sorted(nodes))
            try:
                places = np.array([number[node] for node in brokers], dtype=np.int64)
            except KeyError as fault:
                raise BadInput(f"interest in {name!r}", f"unknown broker id {fault.args[0]!r}") from None
            yield Topic(name, brokers, self._adjacency[places][:, places])

    @cached_property
    def _adjacency(self) -> Any:
        number = {id: place for place, id in enumerate(self.topology.ids)}
        one = np.array([number[link.ends[0]] for link in self.topology.links], dtype=np.int64)
        other = np.array([number[link.ends[1]] for link in self.topology.links], dtype=np.int64)
        rows = np.arange(1, len(one) + 1)
        size = len(number)
        return scipy.sparse.csr_array(
            (np.tile(rows, 2), (np.concatenate((one, other)), np.concatenate((other, one)))), (size, size)
        )
