"""Overlay designers: interest or traffic in, a better topology out (kTCO, OCBR).

`propose` makes meshes; trees for measured traffic are in `regraft.design.ocbr`.
"""

from regraft.design.check import Cut, check
from regraft.design.mesh import METHODS, MeshDesign, MeshOptions, beside, design_mesh
from regraft.design.propose import propose
from regraft.design.repair import Repaired, repair

__all__ = [
    "METHODS",
    "Cut",
    "MeshDesign",
    "MeshOptions",
    "Repaired",
    "beside",
    "check",
    "design_mesh",
    "propose",
    "repair",
]
