"""A tree of brokers as text, with what a step does to it in colour and in signs."""

from rich.text import Text
from rich.tree import Tree

from regraft.cli.frames import Frame, added, removed
from regraft.cli.printing import shown
from regraft.model import Ends, Topology, ends

ADDED, GUARD, OLD = "bold green", "bold blue", "yellow"


def drawn(tree: Topology, root: str, goal: Topology, frame: Frame | None = None) -> Tree:
    """The tree below `root`. Links that the goal does not have are yellow and end in `~`.

    With the frame of the step that led here: `+` is a link that it made, `=` a guard that held.
    """
    top = Tree(Text(shown(root), "bold"), guide_style="dim")
    branches, waiting = {root: top}, [root]
    for one in waiting:
        for other in sorted(tree.neighbours[one] - branches.keys()):
            mark = _mark(ends(one, other), goal, frame)
            branches[other] = branches[one].add(Text.assemble(shown(other), mark))
            waiting.append(other)
    return top


def _mark(link: Ends, goal: Topology, frame: Frame | None) -> tuple[str, str]:
    if frame and link in frame.added:
        return f" + {_instead_of(link, frame)}", ADDED
    if frame and link in frame.guards:
        return " = guard", GUARD
    return ("", "") if link in goal.by_ends else (" ~", OLD)


def _instead_of(link: Ends, frame: Frame) -> str:
    """Which link the new one replaces."""
    for action in frame.step:
        if added(action) == link and (old := removed(action)):
            return f"instead of {shown(old[0])}-{shown(old[1])}"
    return ""
