"""Many masters on one virtual overlay: events in order of time, random delays, one seed = one run.

The overlay checks every shift (its links are there, the tree stays a tree), measures for each broker what
it can see itself, and keeps the global cost after every change. Locks are all or nothing and refused if
one broker is taken; `honest=False` grants everything, to show that the checks would notice.
"""

import heapq
import random
from itertools import count
from typing import NamedTuple

import pytest

from regraft.design.ocbr import Costs, Problem, cost_of, local_view
from regraft.design.ocbr.master import (
    Command,
    Done,
    Event,
    Granted,
    Linked,
    Lock,
    Lost,
    Master,
    Measured,
    Propose,
    Refused,
    Unlock,
    Wake,
    Woken,
)
from regraft.model import Action, Topology, ends

DELTA_T = 10.0


class Interference(AssertionError):
    """A change met a tree that its master did not know."""


class Under(NamedTuple):
    """A change that is under way: which of its shifts comes next."""

    propose: Propose
    place: int


class Overlay:
    def __init__(self, problem: Problem, tree: Topology, seed: int, honest: bool = True, lost: float = 0.0):
        self.problem, self.tree, self.honest, self.lost = problem, tree, honest, lost
        self.rng = random.Random(seed)
        self.now, self.numbers = 0.0, count()
        self.queue: list[tuple[float, int, str, object]] = []
        self.held: dict[str, tuple[str, int]] = {}
        self.epochs = dict.fromkeys(tree.ids, 0)
        self.costs = [self.cost()]
        self.at_once, self.most_at_once, self.refused = 0, 0, 0
        self.last_change = 0.0
        prices = {broker.id: broker.cost for broker in problem.brokers}
        known = Costs(self.price, prices.__getitem__, problem.alpha, problem.beta)
        self.masters = {
            id: Master(id, known, DELTA_T, random.Random(f"{seed} {id}")) for id in tree.ids
        }  # fmt: skip
        for id in tree.ids:
            self.tell(id, Linked(tree.neighbours[id], 0))

    def price(self, one: str, other: str) -> float | None:
        pair = ends(one, other)
        return self.problem.link_cost.get(pair, 1.0 if self.problem.open else None)

    def cost(self) -> float:
        return cost_of(self.problem, self.problem.parents(self.tree.by_ends)).total

    def later(self, delay: float, to: str, what: object) -> None:
        heapq.heappush(self.queue, (self.now + delay, next(self.numbers), to, what))

    def tell(self, to: str, event: Event) -> None:
        self.later(self.rng.uniform(0.01, 0.5), to, event)

    def run(self, quiet: float) -> None:
        """Run until nothing has changed for this long."""
        while self.now < self.last_change + quiet:
            self.now, _, to, what = heapq.heappop(self.queue)
            if isinstance(what, Under):
                self.change(to, what.propose, what.place)
            else:
                self.react(to, what)  # type: ignore[arg-type]

    def react(self, id: str, event: Event) -> None:
        if isinstance(event, Woken):  # the telemetry of the last period, for the links as they are now
            view = local_view(self.tree, self.problem.traffic, id)
            self.obey(id, self.masters[id].handle(Measured(view, self.epochs[id])))
        self.obey(id, self.masters[id].handle(event))

    def obey(self, id: str, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case Wake(after):
                    self.later(after, id, Woken())
                case Lock(ticket, brokers):
                    self.tell(id, self.lock(id, ticket, brokers))
                case Unlock(ticket):
                    self.held = {b: by for b, by in self.held.items() if by != (id, ticket)}
                case Propose():
                    self.at_once += 1
                    self.most_at_once = max(self.most_at_once, self.at_once)
                    self.later(self.rng.uniform(0.1, 1.0), id, Under(command, 0))

    def lock(self, id: str, ticket: int, brokers: frozenset[str]) -> Event:
        if self.honest and any(b in self.held for b in brokers):
            self.refused += 1
            return Refused(ticket)
        if self.rng.random() < self.lost:
            return Lost(ticket)
        self.held |= dict.fromkeys(brokers, (id, ticket))
        return Granted(ticket)

    def change(self, id: str, propose: Propose, place: int) -> None:
        """Carry out one shift after the other, with time between them."""
        self.shift(propose.actions[place])
        if place + 1 < len(propose.actions):
            self.later(self.rng.uniform(0.1, 1.0), id, Under(propose, place + 1))
            return
        self.at_once -= 1
        if len(self.tree.ids) <= 100:  # of many, the sum at the end tells as much in less time
            self.costs.append(self.cost())
        self.last_change = self.now
        self.tell(id, Done(propose.ticket, ok=True))

    def shift(self, action: Action) -> None:
        i, j, k = action.brokers
        links = set(self.tree.by_ends)
        if not {ends(i, j), ends(j, k)} <= links or ends(i, k) in links:
            raise Interference(str(action))
        before = self.tree
        self.tree = Topology.of((links - {ends(i, j)}) | {ends(i, k)}, before.ids)
        for broker in (i, j, k):
            if self.tree.neighbours[broker] != before.neighbours[broker]:
                self.epochs[broker] += 1
                self.react(broker, Linked(self.tree.neighbours[broker], self.epochs[broker]))


def check_sum(overlay: Overlay, saved: float) -> None:
    """The sum of what all masters reported as saved is what the network saved."""
    assert overlay.costs[0] - overlay.cost() == pytest.approx(saved)
