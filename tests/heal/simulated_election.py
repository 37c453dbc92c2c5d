"""Elections on a virtual network: crashes, restarts without memory, loss, doubles, partitions, strangers.

`run(seed)` is one election of one random group; the same seed gives the same run. What is checked: one leader
acts in a view, all that is acted on or learned in an election is the same decision, only living majorities
decide, and with a living connected majority every living member learns the decision in the end.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

from regraft.heal.election import (
    Act,
    Choose,
    Decision,
    Effect,
    Elections,
    ElectionSettings,
    GaveUp,
    Learned,
    Message,
    Send,
)
from regraft.heal.election.messages import Decided, NewLeader, Vote, decode, encode
from regraft.heal.grant import Grant, Member
from regraft.model.intents import Delete
from regraft.testing.network import Clock

TROUBLE = 3.0
"""Virtual seconds with faults; after that the network is whole."""
END = 9.0
STRANGER = "stranger"


@dataclass(frozen=True)
class Weather:
    loss: float
    double: float
    slowest: float


@dataclass
class Outcome:
    seed: int
    violations: list[str] = field(default_factory=list)
    acts: dict[int, tuple[str, Decision]] = field(default_factory=dict)
    """By view: the members that acted, and on what."""
    learned: dict[str, Decision] = field(default_factory=dict)
    views: int = 0
    decided: bool = False
    crashed: int = 0
    gave_up: int = 0


class Run:
    """One group, one election."""

    def __init__(
        self, seed: int, core: Callable[[str, int, ElectionSettings], Elections] = Elections
    ) -> None:
        self.rng = rng = Random(f"{seed}/election")
        self.clock = Clock()
        self.outcome = Outcome(seed)
        self._core = core
        self.settings = ElectionSettings(timer=0.1, resend=0.05, patience=END)
        n = rng.choice((2, 3, 3, 4, 4, 4, 5, 5, 7, 9))
        names = [f"b{i}" for i in range(n)]
        self.asker = rng.choice(names)
        dead = rng.choice([name for name in names if name != self.asker])
        members = tuple(Member(name, 1) for name in names)
        self.grant = Grant(
            id="e1", kind="delete", asker=self.asker, target=dead, members=members, suspects=(dead,)
        )
        self.weather = Weather(
            rng.choice((0, 0.05, 0.3)), rng.choice((0, 0.1)), rng.choice((0.005, 0.05, 0.15))
        )
        self.nodes: dict[str, Elections] = {name: core(name, 1, self.settings) for name in names}
        self.up = set(names)
        self._woken: dict[str, float] = {}
        self.faithful = set(names)
        """Never crashed."""
        self.sides: list[set[str]] = []
        """One side of a partition; empty: there is none."""
        self.deaf: set[str] = set()
        """They speak and hear nothing."""
        if rng.random() < 0.8:
            self._crash(dead)

    # Faults

    def _crash(self, name: str) -> None:
        self.up.discard(name)
        if name in self.faithful:
            self.faithful.discard(name)
            self.outcome.crashed += 1

    def _restart(self, name: str) -> None:
        """Without memory, and told of the group again."""
        if name not in self.up:
            self.up.add(name)
            self.nodes[name] = self._core(name, 2, self.settings)
            self._perform(name, self.nodes[name].begin(self.grant, self.clock.now))

    def _plan_faults(self) -> None:
        rng, names = self.rng, [each.id for each in self.grant.members]
        busy = rng.choice((0.3, TROUBLE))  # most elections are over soon
        for _ in range(rng.randint(0, len(names) // 2 + 1)):
            name, at = rng.choice(names), rng.uniform(0, busy)
            self.clock.after(at, partial(self._crash, name))
            if rng.random() < 0.5:
                self.clock.after(at + rng.uniform(0.01, 1), partial(self._restart, name))
        for _ in range(rng.choice((0, 1, 3, 5))):
            split = set(rng.sample(names, rng.randint(1, len(names) - 1)))
            self.clock.after(rng.uniform(0, busy), partial(self._part, split))
        for _ in range(rng.choice((0, 0, 1, 2))):
            deaf, at = rng.choice(names), rng.uniform(0, busy)
            self.clock.after(at, partial(self.deaf.add, deaf))
            self.clock.after(at + rng.uniform(0.1, 1), partial(self.deaf.discard, deaf))
        for _ in range(rng.choice((0, 1, 3))):
            self.clock.after(rng.uniform(0, busy), self._false_suspicion)
        for _ in range(rng.choice((0, 0, 5))):
            self.clock.after(rng.uniform(0, busy), self._forge)
        self.clock.after(TROUBLE, self._end_of_trouble)

    def _part(self, split: set[str]) -> None:
        self.sides = [split, {each.id for each in self.grant.members} - split]

    def _false_suspicion(self) -> None:
        name, other = (self.rng.choice(self.grant.members).id for _ in range(2))
        if name in self.up and name != other:
            self._perform(name, self.nodes[name].suspect(other, self.clock.now))

    def _forge(self) -> None:
        """A stranger takes part, with all kinds of messages, and so does a member's earlier life."""
        to = self.rng.choice(self.grant.members).id
        view = self.rng.randint(0, 3)
        bad = (Delete(broker="forged"),)
        leader = self.grant.candidates[view % len(self.grant.candidates)]
        sender, life = self.rng.choice([(STRANGER, 1), (STRANGER, 0), (leader, 0)])
        messages: list[Message] = [
            Vote(election="e1", life=life, leader=leader, view=view),
            NewLeader(election="e1", life=life, view=view, decision=bad),
            Decided(election="e1", life=life, leader=leader, view=view, decision=bad),
        ]
        message = self.rng.choice(messages)
        if to in self.up and sender != to:
            self._perform(to, self.nodes[to].receive(sender, message, self.clock.now))

    def _end_of_trouble(self) -> None:
        self.sides = []
        self.deaf.clear()
        self.weather = Weather(0, 0, 0.01)
        for name in self.up:
            for other in self.up:
                self.nodes[name].trust(other)

    # The network

    def _perform(self, name: str, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send():
                    self._carry(name, effect)
                case Choose():
                    self._choose(name, effect)
                case Act():
                    self._check_act(name, effect)
                case Learned():
                    self._check_decision(f"{name} learned", effect.decision)
                    self.outcome.learned[name] = effect.decision
                case GaveUp():
                    self.outcome.gave_up += 1
        self.outcome.views = max(
            [self.outcome.views, *(each.view for each in self.nodes[name].open.values())]
        )
        self._wake(name)

    def _choose(self, name: str, effect: Choose) -> None:
        """Takes a while; each leader would find something else to be done."""
        decision = (Delete(broker=f"{name} in view {effect.view}"),)
        node = self.nodes[name]

        def answer() -> None:
            if name in self.up and self.nodes[name] is node:
                self._perform(name, node.chosen(effect.election, effect.view, decision, self.clock.now))

        self.clock.after(self.rng.uniform(0, 0.02), answer)

    def _carry(self, sender: str, send: Send) -> None:
        data = encode(send.message)
        for _ in range(2 if self.rng.random() < self.weather.double else 1):
            if self.rng.random() >= self.weather.loss and not self._parted(sender, send.to):
                delay = self.rng.uniform(0.0005, self.weather.slowest)
                self.clock.after(delay, lambda: self._arrive(sender, send.to, data))

    def _arrive(self, sender: str, to: str, data: bytes) -> None:
        if to in self.up and to not in self.deaf and not self._parted(sender, to):
            self._perform(to, self.nodes[to].receive(sender, decode(data), self.clock.now))

    def _parted(self, one: str, other: str) -> bool:
        return any((one in side) != (other in side) for side in self.sides)

    def _wake(self, name: str) -> None:
        """Ticks the member when something is due there."""
        due = self.nodes[name].next_due()
        if due is None or self._woken.get(name, END) <= due or self._settled():
            return
        self._woken[name] = due
        self.clock.after(max(0.0, due - self.clock.now), lambda: self._tick(name, due))

    def _tick(self, name: str, due: float) -> None:
        if self._woken.get(name) == due:
            del self._woken[name]
            if name in self.up:
                self._perform(name, self.nodes[name].tick(max(self.clock.now, due)))

    def _settled(self) -> bool:
        return self.clock.now > TROUBLE and all(
            name in self.outcome.learned for name in self.up & self.faithful
        )

    # Checks

    def _check_act(self, name: str, act: Act) -> None:
        if (before := self.outcome.acts.get(act.view)) is not None and before != (name, act.decision):
            self._wrong(f"two leaders act in view {act.view}: {before[0]} and {name}")
        self.outcome.acts[act.view] = name, act.decision
        self._check_decision(f"{name} acts", act.decision)
        self.outcome.decided = True

    def _check_decision(self, who: str, decision: Decision) -> None:
        others = {*self.outcome.learned.values(), *(each for _, each in self.outcome.acts.values())}
        if others - {decision}:
            self._wrong(f"{who} on {decision}, others on {others - {decision}}")
        if decision == (Delete(broker="forged"),):
            self._wrong(f"{who} on what a stranger said")

    def _wrong(self, text: str) -> None:
        self.outcome.violations.append(f"{self.clock.now:.3f} {text}")

    def run(self) -> Outcome:
        self._plan_faults()
        asker = self.asker
        if asker in self.up:
            self._perform(asker, self.nodes[asker].begin(self.grant, 0.0))
        self.clock.run(END)
        alive = self.up & self.faithful
        begun = {name for name in alive if self.nodes[name].open or name in self.outcome.learned}
        if len(alive) >= self.grant.majority and begun:
            for name in sorted(begun - self.outcome.learned.keys()):
                self._wrong(
                    f"{name} lives among {len(alive)} of {len(self.grant.members)} and learned nothing"
                )
        return self.outcome


def run(seed: int, core: Callable[[str, int, ElectionSettings], Elections] = Elections) -> Outcome:
    return Run(seed, core).run()
