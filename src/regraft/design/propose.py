"""The entries for meshes: `propose` designs from nothing, `better_mesh` improves the mesh that runs.

Every result of `propose` is tested by `check`, which shares no code with the designers.
"""

from collections.abc import Iterable, Mapping

from regraft.design.check import check
from regraft.design.mesh import FIXED_K, MeshOptions, beside, design_mesh
from regraft.design.repair import repair
from regraft.model import Infeasible, RegraftError, Topology
from regraft.model.workload import Interest


def propose(
    interest: Mapping[str, Iterable[str]],
    method: str = "greedy-k",
    options: MeshOptions = MeshOptions(),  # noqa: B008 (frozen)
) -> Topology | Infeasible:
    """A k-topic-connected mesh for this interest (topic → nodes), or why there is none."""
    design = design_mesh(interest, method, options)
    if isinstance(design, Infeasible):
        return design
    topology = design.topology
    if cut := check(topology, interest, design.k):
        raise RegraftError(f"{method} made an overlay that is not {design.k}-topic-connected: {cut}")
    return topology


def better_mesh(
    topology: Topology, interest: Interest, k: int, method: str, max_degree: int | None
) -> tuple[Topology, str] | Infeasible:
    """A better mesh close to the current one, and how it was found: by `method`, or by "repair" (kTCO §III).

    The current mesh is repaired with few links. If it keeps its topics k-connected already, a mesh that is
    designed from nothing is taken instead when it needs fewer links than the repaired one.
    """
    repaired = repair(
        topology, {}, interest, k, float("inf"), options=MeshOptions(k=k, max_degree=max_degree)
    )
    if isinstance(repaired, Infeasible):
        return repaired
    found, how = repaired.topology, "repair"
    if check(topology, interest, k) is None:
        options = MeshOptions(k=None if method in FIXED_K else k, max_degree=max_degree)
        designed = design_mesh(interest, method, options)
        if not isinstance(designed, Infeasible) and len(designed.links) < len(found.links):
            found, how = designed.topology, method
    return beside(found, topology), how


def most_connected(topology: Topology, interest: Interest, most: int) -> int:
    """The largest k up to `most` for which every topic is k-connected; 0 if some topic is in pieces."""
    return next((k for k in range(most, 0, -1) if check(topology, interest, k) is None), 0)
