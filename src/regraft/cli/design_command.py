"""`regraft design METHOD …`: a better overlay for the given interest or traffic.

There is one command for each method, loaded when it is used: a mesh method needs the compiled kernels, a
tree method does not.
"""

from typing import ClassVar

import click

from regraft.cli.help_headings import LazyGroup


class Methods(LazyGroup):
    """The methods for meshes (`ABOUT` of `design_mesh`), and those for trees."""

    places: ClassVar[dict[str, str]] = {"ocbr": "design_ocbr:ocbr"}

    def list_commands(self, ctx: click.Context) -> list[str]:
        from regraft.cli.design_mesh import ABOUT

        return [*ABOUT, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from regraft.cli.design_mesh import ABOUT, command

        return command(cmd_name) if cmd_name in ABOUT else super().get_command(ctx, cmd_name)


@click.group(cls=Methods)
def design() -> None:
    """Design an overlay: a mesh for topics, or a tree for traffic.

    \b
    Examples:
      regraft design gm2 --interest interest.csv -o mesh.json
      regraft design greedy-k --interest interest.csv -k 4 --json
      regraft design ocbr --traffic traffic.json --topology tree.json -o better.json
    """
