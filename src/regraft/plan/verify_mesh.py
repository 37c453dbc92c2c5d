"""The independent replay of a mesh's invariant. Shares no code with the planners.

The invariant `keeps(links)` is taken to be monotone: more links between the same brokers never
break it. So a step is safe in every order if the invariant holds with the fewest links that can be
there in mid-step. Brokers that join count for it once all their goal links are there, brokers that
leave until the first of their links goes: a broker that is joining or leaving has no clients to serve.
"""

from collections.abc import Callable, Iterator

from regraft.model import Action, BrokenPlan, Ends, Topology

Keeps = Callable[[frozenset[Ends]], bool]


class Invariant:
    """A mesh's invariant, followed through the steps."""

    def __init__(self, current: Topology, goal: Topology, keeps: Keeps) -> None:
        self.keeps = keeps
        self.links: set[Ends] = set(current.by_ends)
        joining = set(goal.ids) - set(current.ids)
        leaving = set(current.ids) - set(goal.ids)
        self.of_joining = {link for link in goal.by_ends if not joining.isdisjoint(link)}
        self.of_leaving = {link for link in current.by_ends if not leaving.isdisjoint(link)}
        self.joining, self.leaving = joining, leaving
        if not keeps(frozenset(self.links)):
            raise BrokenPlan("start: the current topology breaks the invariant")

    def check(self, number: int, added: dict[Ends, Action], removed: dict[Ends, Action]) -> None:
        """Every order of the step keeps the invariant; then the step is taken."""
        for link, action in added.items():
            useless = not self.joining.isdisjoint(link) and link not in self.of_joining
            if useless or not self.leaving.isdisjoint(link):
                rule = "a broker that joins gets goal links only, one that leaves gets none"
                raise BrokenPlan(f"step {number}, {action}: {rule}")
        for link, action in removed.items():
            if link in self.of_joining:
                raise BrokenPlan(f"step {number}, {action}: the link of a broker that joins must stay")
        for links in self.worst(set(added), set(removed)):
            if not self.keeps(self.counted(links)):
                raise BrokenPlan(f"step {number}: some order of its actions breaks the invariant")
        self.links = (self.links | added.keys()) - removed.keys()

    def worst(self, added: set[Ends], removed: set[Ends]) -> Iterator[set[Ends]]:
        """The fewest links that can be there in mid-step, for each set of brokers that can count then."""
        yield self.links - removed
        joined = self.of_joining - self.links
        completes = bool(joined) and joined <= added
        starts_leaving = self.of_leaving <= self.links and bool(removed & self.of_leaving)
        if completes:
            yield (self.links | joined) - removed
        if starts_leaving:
            yield self.links - (removed - self.of_leaving)
        if completes and starts_leaving:
            yield (self.links | joined) - (removed - self.of_leaving)

    def counted(self, links: set[Ends]) -> frozenset[Ends]:
        """The links between brokers that are neither joining nor leaving at this moment."""
        half: set[str] = set() if self.of_joining <= links else set(self.joining)
        if not self.of_leaving <= links:
            half |= self.leaving
        return frozenset(link for link in links if half.isdisjoint(link)) if half else frozenset(links)
