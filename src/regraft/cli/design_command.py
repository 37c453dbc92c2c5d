"""`regraft design METHOD …`: a better overlay for the given interest or traffic.

There is one command for each method, loaded when it is used: a mesh method needs the compiled kernels, a
tree method does not.
"""

import click

from regraft.cli.help_headings import LazyGroup

METHODS = {
    "gm": "design_mesh:gm",
    "gm2": "design_mesh:gm2",
    "harary": "design_mesh:harary",
    "cycle": "design_mesh:cycle",
    "greedy-k": "design_mesh:greedy_k",
    "ocbr": "design_ocbr:ocbr",
}


class Methods(LazyGroup):
    places = METHODS


@click.group(cls=Methods)
def design() -> None:
    """Design an overlay: a mesh for topics, or a tree for traffic.

    \b
    Examples:
      regraft design gm2 --interest interest.csv -o mesh.json
      regraft design greedy-k --interest interest.csv -k 4 --json
      regraft design ocbr --traffic traffic.json --topology tree.json -o better.json
    """
