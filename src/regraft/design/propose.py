"""The entry for meshes: interest in, a topology out, checked by what did not produce it."""

from collections.abc import Iterable, Mapping

from regraft.design.check import check
from regraft.design.mesh import MeshOptions, design_mesh
from regraft.model import Infeasible, RegraftError, Topology


def propose(
    interest: Mapping[str, Iterable[str]],
    method: str = "greedy-k",
    options: MeshOptions = MeshOptions(),  # noqa: B008 (frozen)
) -> Topology | Infeasible:
    """A k-topic-connected mesh for who wants what (a snapshot's interest), or why there is none."""
    design = design_mesh(interest, method, options)
    if isinstance(design, Infeasible):
        return design
    topology = design.topology
    if cut := check(topology, interest, design.k):
        raise RegraftError(f"{method} made an overlay that is not {design.k}-topic-connected: {cut}")
    return topology
