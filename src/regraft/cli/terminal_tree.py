"""Two trees of brokers beside each other as text, with what is different in colour and in signs."""

from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from regraft.cli.printing import shown
from regraft.model import Topology, ends

GOES, COMES = "yellow", "bold green"


def side_by_side(current: Topology, goal: Topology, root: str) -> Table:
    """Both trees seen from one broker: `~` marks links that go, `+` links that come."""
    table = Table.grid(padding=(0, 6))
    table.add_row(Text("Now (~ goes)", "bold"), Text("Goal (+ is new)", "bold"))
    table.add_row(hung(current, root, goal, (" ~", GOES)), hung(goal, root, current, (" +", COMES)))
    return table


def hung(tree: Topology, root: str, other: Topology, mark: tuple[str, str]) -> Tree:
    """The tree below `root`; links that the other one does not have end in the mark."""
    top = Tree(Text(shown(root), "bold"), guide_style="dim")
    branches, waiting = {root: top}, [root]
    for one in waiting:
        for beside in sorted(tree.neighbours[one] - branches.keys()):
            sign = ("", "") if ends(one, beside) in other.by_ends else mark
            branches[beside] = branches[one].add(Text.assemble(shown(beside), sign))
            waiting.append(beside)
    return top
