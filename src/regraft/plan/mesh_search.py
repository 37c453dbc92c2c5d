"""When no direct order of links and unlinks fits: detours over any link, by A*.

One change of one link at a time, so what is found has the fewest actions of any plan, and an
exhausted search proves that there is none. A second, greedier pass looks for any plan at all when
the first runs out of states.
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import combinations, pairwise

from regraft.model import ends
from regraft.plan.mesh_task import Change, Links, MeshTask
from regraft.plan.watch import Watch

MOST_STATES = 20_000
"""Link sets that one pass may reach before it gives up."""


def detour(task: MeshTask, watch: Watch) -> tuple[list[Change] | None, bool]:
    """Single changes of any link, by A*; and whether that is proven: fewest actions, or no plan."""
    for weight in (1, 4):
        path, exhausted = search(task, weight, watch)
        if path:
            return joined_up(task, path), weight == 1
        if exhausted:
            return None, True
    return None, False


def search(task: MeshTask, weight: int, watch: Watch) -> tuple[list[Links], bool]:
    """The link sets on the way to the goal; empty if none was found, and whether that is proven."""
    came: dict[Links, Links] = {}
    cost = {task.start: 0}
    queue: list[tuple[int, int, Links]] = [(0, 0, task.start)]
    while queue and len(cost) < MOST_STATES and not watch.expired:
        links = heappop(queue)[-1]
        if links == task.end:
            path = [links]
            while path[-1] != task.start:
                path.append(came[path[-1]])
            return path[::-1], False
        for after in single_changes(task, links):
            if after not in cost or cost[links] + 1 < cost[after]:
                cost[after], came[after] = cost[links] + 1, links
                heappush(queue, (cost[after] + weight * len(after ^ task.end), len(came), after))
    return [], not queue


def single_changes(task: MeshTask, links: Links) -> Iterator[Links]:
    """Every link set that differs by one link and may follow."""
    stay = [id for id in task.current.ids if id not in task.leaving]
    new = {ends(one, other) for one, other in combinations(stay, 2)} | task.of_joining
    for link in sorted(new - links):
        if task.fits(links, frozenset({link}), frozenset()):
            yield links | {link}
    for link in sorted(links - task.of_joining):
        if task.fits(links, frozenset(), frozenset({link})):
            yield links - {link}


def joined_up(task: MeshTask, path: list[Links]) -> list[Change]:
    """The single changes of a path, grouped into steps: as many in a row as may run in any order."""
    changes: list[Change] = []
    start = path[0]
    for before, after in pairwise(path):
        if changes:
            # If the step already touches the link, the two changes cancel and the step would not grow.
            added, removed = after - start, start - after
            more = len(added) + len(removed) > sum(map(len, changes[-1]))
            if more and task.fits(start, added, removed):
                changes[-1] = (added, removed)
                continue
        start = before
        changes.append((after - before, before - after))
    return changes
