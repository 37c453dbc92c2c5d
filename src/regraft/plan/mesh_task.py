"""What may be one step of a mesh plan: presence, degree, exclusive steps, and the invariant.

The invariant is a callable on the set of links, e.g. k-topic-connectivity (kTCO §III). More links
between the same brokers are assumed never to break it, so only the fewest links that can be there in
mid-step are tested. Brokers that join count for the invariant once they have all their
goal links; brokers that leave count until the first of their links goes: a broker that is joining or
leaving has no clients to serve.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from regraft.model import Action, Ends, Infeasible, Limits, Step, Topology, ends

Keeps = Callable[[frozenset[Ends]], bool]
Links = frozenset[Ends]
Change = tuple[Links, Links]
"""A step in links: those it adds, those it removes."""


@dataclass(frozen=True)
class MeshTask:
    """Two meshes, the limits and the invariant; answers which changes may be one step."""

    current: Topology
    goal: Topology
    limits: Limits
    keeps: Keeps

    @cached_property
    def start(self) -> Links:
        return frozenset(self.current.by_ends)

    @cached_property
    def end(self) -> Links:
        return frozenset(self.goal.by_ends)

    @cached_property
    def joining(self) -> dict[str, Ends | None]:
        """Brokers that join, each with the goal link towards those that stay."""
        return anchors(self.goal, frozenset(self.current.ids))

    @cached_property
    def leaving(self) -> dict[str, Ends | None]:
        """Brokers that leave, each with the current link that it keeps until the last."""
        return anchors(self.current, frozenset(self.goal.ids))

    @cached_property
    def of_joining(self) -> Links:
        return frozenset(link for link in self.end if not self.joining.keys().isdisjoint(link))

    @cached_property
    def of_leaving(self) -> Links:
        return frozenset(link for link in self.start if not self.leaving.keys().isdisjoint(link))

    def refusal(self) -> Infeasible | None:
        """Why there can be no plan, if that can be told without a search."""
        for operation, brokers in (("append", self.joining), ("detach", self.leaving)):
            for broker, anchor in brokers.items():
                if operation not in self.limits.operations:
                    return Infeasible(f"needs {operation}, not allowed", "operations", broker, proven=True)
                if anchor is None:
                    reason = f"{operation}: no links lead to a broker that stays"
                    return Infeasible(reason, None, broker, proven=True)
        for name, links in (("current", self.start), ("goal", self.end)):
            if not self.keeps(links):
                return Infeasible(f"the {name} mesh breaks the invariant", "invariant", proven=True)
            for broker, count in degrees(links).items():
                if self.limits.max_degree is not None and count > self.limits.max_degree:
                    return Infeasible(f"{count} links in the {name} mesh", "max-degree", broker, proven=True)
        return None

    def fits(self, links: Links, added: Links, removed: Links) -> bool:
        """May these changes be one step from `links`, in whatever order they run?"""
        degree, gains, losses = degrees(links), degrees(added), degrees(removed)
        absent = {broker for broker in self.joining if not degree[broker]}
        if any(len(absent.intersection(link)) > 1 for link in added):
            return False
        if any(gains[broker] > 1 for broker in absent):
            return False
        for broker, anchor in self.leaving.items():
            if anchor in removed and degree[broker] > 1:
                return False
        most = self.limits.max_degree
        if most is not None and any(degree[broker] + gain > most for broker, gain in gains.items()):
            return False
        if self.limits.exclusive and any(count > 1 for count in (gains + losses).values()):
            return False
        return self.is_safe(links, added, removed)

    def is_safe(self, links: Links, added: Links, removed: Links) -> bool:
        """The invariant holds with the fewest links that can be there, whichever brokers count then."""
        last = self.of_joining - links
        gone = {removed, removed - self.of_leaving} if self.of_leaving <= links else {removed}
        come = {frozenset[Ends](), last} if last and last <= added else {frozenset[Ends]()}
        if not removed and len(come) == 1:
            return True
        return all(self.keeps(self.counted((links | more) - less)) for more in come for less in gone)

    def counted(self, links: Links) -> Links:
        """The links between brokers that are neither joining nor leaving at this moment."""
        half: set[str] = set()
        if not self.of_joining <= links:
            half.update(self.joining)
        if not self.of_leaving <= links:
            half.update(self.leaving)
        return frozenset(link for link in links if half.isdisjoint(link))

    def least_steps(self) -> int:
        """A lower bound: one step if all fits, else two; if steps are exclusive, one broker's changes."""
        added, removed = self.end - self.start, self.start - self.end
        if not added and not removed:
            return 0
        least = 1 if self.fits(self.start, added, removed) else 2
        busiest = max(degrees(added | removed).values()) if self.limits.exclusive else 0
        return max(least, busiest)

    def explain(self, links: Links, proven: bool) -> Infeasible:
        """Why no direct step fits at `links`: a full broker waits for a link, or the invariant."""
        degree, waiting = degrees(links), degrees(self.end - links)
        full = sorted(broker for broker in waiting if degree[broker] == self.limits.max_degree)
        found = "there is no" if proven else "found no"
        reason = f"{found} order of links and unlinks that keeps the invariant"
        if not full:
            return Infeasible(reason, "invariant", None, proven)
        return Infeasible(f"{reason} within {self.limits.max_degree} links", "max-degree", full[0], proven)

    def named(self, changes: Iterable[Change]) -> tuple[Step, ...]:
        links, steps = self.start, []
        for added, removed in changes:
            degree = degrees(links)
            new = {broker for broker in self.joining if not degree[broker]}
            last = {broker for broker in self.leaving if degree[broker] == 1}
            step = [named_change(link, "link", "append", new) for link in sorted(added)]
            step += [named_change(link, "unlink", "detach", last) for link in sorted(removed)]
            steps.append(tuple(step))
            links = (links | added) - removed
        return tuple(steps)


def named_change(link: Ends, plain: str, framing: str, brokers: set[str]) -> Action:
    """The framing operation names the broker that joins or leaves first."""
    for broker, other in (link, link[::-1]):
        if broker in brokers:
            return Action(framing, (broker, other))
    return Action(plain, link)


def degrees(links: Iterable[Ends]) -> Counter[str]:
    return Counter(end for link in links for end in link)


def anchors(mesh: Topology, stay: frozenset[str]) -> dict[str, Ends | None]:
    """For each broker that does not stay, the first link of a shortest way to one that does."""
    found: dict[str, Ends | None] = {id: None for id in mesh.ids if id not in stay}
    reached = [id for id in mesh.ids if id in stay]
    for one in reached:
        for other in sorted(mesh.neighbours[one]):
            if other in found and found[other] is None:
                found[other] = ends(one, other)
                reached.append(other)
    return found
