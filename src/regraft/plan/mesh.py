"""Link and unlink plans between two meshes that keep an invariant and the degree limit throughout.

Without a degree limit a mesh first gets all its new links and then loses the old ones: two steps,
one when any order of both is safe. With a degree limit, or exclusive steps, links and unlinks
interleave, as many in each step as fit. When that gets stuck, `mesh_search` may also drop a goal
link, or add a foreign one, for a while. Brokers join by `append` with their first goal link and
leave by `detach` of their last link; `mesh_task` says what may be one step.
"""

from collections import Counter
from collections.abc import Callable, Iterator

from regraft.model import BadInput, Bounds, Ends, Infeasible, Limits, Plan, Topology
from regraft.plan.mesh_search import detour
from regraft.plan.mesh_task import Change, Keeps, Links, MeshTask, degrees
from regraft.plan.verify import verify
from regraft.plan.watch import Watch


def make_mesh_plan(
    current: Topology, goal: Topology, limits: Limits, keeps: Keeps, watch: Watch | None = None
) -> Plan | Infeasible:
    """A verified plan whose every intermediate mesh keeps the invariant, or why there is none."""
    if current.kind != "mesh" or goal.kind != "mesh":
        raise BadInput("kind", "both topologies must be meshes")
    task = MeshTask(current, goal, limits, keeps)
    if refused := task.refusal():
        return refused
    changes, stuck = direct(task)
    fewest = len(task.start ^ task.end)
    if stuck is not None:
        found, exhausted = detour(task, watch or Watch(limits.time_limit))
        if found is None:
            return task.explain(stuck, proven=exhausted)
        changes = found
        fewest = sum(len(added) + len(removed) for added, removed in found) if exhausted else fewest
    bounds = Bounds(task.least_steps(), fewest)
    plan = Plan("mesh", current.sha256, goal.sha256, task.named(changes), "mesh", bounds)
    verify(plan, current, goal, limits, keeps)
    return plan


def direct(task: MeshTask) -> tuple[list[Change], Links | None]:
    """Steps that only add missing links and remove foreign ones; and the links where no more fits, if so."""
    links = task.start
    changes: list[Change] = []
    interleave = task.limits.max_degree is not None or task.limits.exclusive
    while links != task.end:
        added = chosen_links(task, links)
        removed = chosen_unlinks(task, links, added) if interleave else all_unlinks(task, links, added)
        if not added and not removed:
            return changes, links
        changes.append((added, removed))
        links = (links | added) - removed
    return changes, None


def chosen_links(task: MeshTask, links: Links) -> Links:
    """As many missing links as fit in a step; those of brokers that join come after the others."""
    degree = degrees(links)
    missing = sorted(task.end - links, key=lambda link: (link in task.of_joining, link))
    absent = {broker for broker in task.joining if not degree[broker]}
    ready = [link for link in missing if len(absent.intersection(link)) < 2]

    def room(broker: str) -> int:
        most = len(ready) if task.limits.max_degree is None else task.limits.max_degree - degree[broker]
        return min(most, 1) if task.limits.exclusive or broker in absent else most

    return most_that_fit(with_room(ready, room), lambda added: task.fits(links, added, frozenset()))


def all_unlinks(task: MeshTask, links: Links, added: Links) -> Links:
    """Once the step adds all that is missing: every foreign link, or none if that is not safe."""
    if task.end - links - added:
        return frozenset()
    removed = frozenset(released(task, links))
    return removed if task.fits(links, added, removed) else frozenset()


def chosen_unlinks(task: MeshTask, links: Links, added: Links) -> Links:
    """As many foreign links as fit beside the added ones; those that full brokers wait for come first."""
    degree, gained, waiting = degrees(links), degrees(added), degrees(task.end - links - added)
    most = task.limits.max_degree

    def wait(link: Ends) -> int:
        full = [end for end in link if most is not None and degree[end] + gained[end] + waiting[end] > most]
        return sum(waiting[end] for end in full)

    # A foreign link that no full broker waits for goes last: it may allow the removal of another one.
    hasty = most is None or not waiting
    ready = [link for link in released(task, links) if hasty or wait(link)]
    ready.sort(key=lambda link: (-wait(link), link))
    if task.limits.exclusive:
        ready = with_room(ready, lambda broker: 1 - gained[broker])
    return most_that_fit(ready, lambda removed: task.fits(links, added, removed))


def released(task: MeshTask, links: Links) -> Iterator[Ends]:
    """Foreign links that may go now: a broker that leaves keeps its anchor link until it has no other."""
    degree = degrees(links)
    held = {anchor for broker, anchor in task.leaving.items() if degree[broker] > 1}
    return (link for link in links - task.end if link not in held)


def with_room(candidates: list[Ends], room: Callable[[str], int]) -> list[Ends]:
    """First come, first served: the links that are left when no broker takes more than it has room for."""
    taken: Counter[str] = Counter()
    kept = []
    for link in candidates:
        if all(taken[end] < room(end) for end in link):
            taken.update(link)
            kept.append(link)
    return kept


def most_that_fit(candidates: list[Ends], fits: Callable[[Links], bool]) -> Links:
    """As many as fit together, tried in halves: few tests if nearly all of them fit."""
    kept: Links = frozenset()
    pending = [candidates]
    while pending:
        part = pending.pop()
        if part and fits(kept.union(part)):
            kept = kept.union(part)
        elif len(part) > 1:
            middle = len(part) // 2
            pending += [part[middle:], part[:middle]]
    return kept
