"""Compile the mesh kernels once, so that the first design does not wait: `python -m regraft.design.warm`."""

from regraft.design.check import check
from regraft.design.explain import explain, fewest_possible
from regraft.design.mesh import MeshDesign, MeshOptions, design_mesh
from regraft.design.shape import topic_diameters
from regraft.model import Infeasible

TINY = {
    "a": [f"n{number}" for number in range(0, 12)],
    "b": [f"n{number}" for number in range(6, 18)],
    "c": [f"n{number}" for number in range(3, 18, 2)],
}


def warm() -> None:
    """Design something tiny, so that everything that is compiled is called once."""
    for method in ("gm", "gm2", "harary", "greedy-k"):
        use(design_mesh(TINY, method, MeshOptions()))
    use(design_mesh(TINY, "greedy-k", MeshOptions(part=6)))


def use(design: MeshDesign | Infeasible) -> None:
    assert isinstance(design, MeshDesign), design
    check(design.topology, TINY, design.k)
    explain(design.interests.matrix, design.links, design.k)
    fewest_possible(design.interests.matrix, design.k)
    topic_diameters(design.topology, TINY)


if __name__ == "__main__":
    warm()
