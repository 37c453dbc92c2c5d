"""A better mesh than the current one, which is still close to it (kTCO §III).

If the current mesh does not keep its topics k-connected, it is repaired with few links. If it does, a mesh
that is designed from nothing is taken when it needs fewer links than the repaired one.
"""

from regraft.design.check import check
from regraft.design.mesh import MeshOptions, beside, design_mesh
from regraft.design.repair import repair
from regraft.model import Infeasible, Topology
from regraft.model.workload import Interest

WITHOUT_K = ("gm", "gm2", "cycle")
"""Methods that have no parameter k."""


def better_mesh(
    topology: Topology, interest: Interest, k: int, method: str, max_degree: int | None
) -> tuple[Topology, str] | Infeasible:
    """The mesh, and how it was found: by `method`, or by "repair"."""
    repaired = repair(
        topology, {}, interest, k, float("inf"), options=MeshOptions(k=k, max_degree=max_degree)
    )
    if isinstance(repaired, Infeasible):
        return repaired
    found, how = repaired.topology, "repair"
    if check(topology, interest, k) is None:
        options = MeshOptions(k=None if method in WITHOUT_K else k, max_degree=max_degree)
        designed = design_mesh(interest, method, options)
        if not isinstance(designed, Infeasible) and len(designed.links) < len(found.links):
            found, how = designed.topology, method
    return beside(found, topology), how


def most_connected(topology: Topology, interest: Interest, most: int) -> int:
    """The largest k up to `most` for which every topic is k-connected; 0 if some topic is in pieces."""
    return next((k for k in range(most, 0, -1) if check(topology, interest, k) is None), 0)
