"""Actions as changes of links: which links each concerns and changes, and what undoes it. Pure."""

from collections.abc import Iterable, Sequence

from regraft.model.errors import BadInput
from regraft.model.topology import Ends, Link, Topology, ends

RawAction = tuple[str, ...]
"""An operation and its brokers."""


def removed_and_added(change: RawAction) -> tuple[set[Ends], set[Ends]]:
    operation, *brokers = change
    if operation == "shift":
        i, j, k = brokers
        return {ends(i, j)}, {ends(i, k)}
    i, j = brokers
    return (set(), {ends(i, j)}) if operation in ("append", "link") else ({ends(i, j)}, set())


def concerned(change: RawAction) -> frozenset[Ends]:
    """The links that no other change may concern meanwhile: removed, added, and the guard of a shift."""
    operation, *brokers = change
    removed, added = removed_and_added(change)
    guard = {ends(brokers[1], brokers[2])} if operation == "shift" else set()
    return frozenset(removed | added | guard)


def apply(change: RawAction, brokers: Iterable[str], links: Iterable[Ends]) -> tuple[list[str], list[Ends]]:
    """Brokers and links after the change; `BadInput` if the change does not fit them."""
    removed, added = removed_and_added(change)
    now, there = set(brokers), {ends(*link) for link in links}
    guard = concerned(change) - removed - added
    if not removed <= there or added & there or not guard <= there:
        raise BadInput(f"{change[0]}({', '.join(change[1:])})", "does not fit the links that there are")
    if change[0] == "append":
        now.add(change[1])
    if change[0] == "detach":
        now.discard(change[1])
    return sorted(now), sorted(there - removed | added)


def inverse(change: RawAction) -> RawAction:
    operation, *brokers = change
    if operation == "shift":
        i, j, k = brokers
        return ("shift", i, k, j)
    other = {"append": "detach", "detach": "append", "link": "unlink", "unlink": "link"}
    return (other[operation], *brokers)


def taken_back(steps: Sequence[Sequence[Sequence[RawAction]]]) -> list[list[RawAction]]:
    """Steps that undo the given ones, the last first. An action is a list of changes here.

    An action of several changes is undone one change per step.
    """
    back: list[list[RawAction]] = []
    for step in reversed(steps):
        depth = max((len(changes) for changes in step), default=0)
        for at in range(depth):
            back.append([inverse(changes[-1 - at]) for changes in step if at < len(changes)])
    return [step for step in back if step]


def changed(topology: Topology, added: Sequence[Ends], removed: Sequence[Ends]) -> Topology:
    """The topology with the added links and without the removed ones."""
    gone = set(removed)
    kept = tuple(link for link in topology.links if link.ends not in gone)
    return Topology(topology.brokers, (*kept, *(Link(pair) for pair in added)), topology.kind)
