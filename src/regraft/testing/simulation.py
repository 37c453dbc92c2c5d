"""One seed, one run: real broker and client cores on a virtual network, with every kind of fault.

`simulate(seed)` returns an `Outcome`: what broke, if anything, and the hash of all that happened. The same
seed gives the same hash in every process. Each draw from a random generator is part of this: one more draw,
or another order of draws, makes every seed another run. To look at a failing seed:

    python -m benchmarks.soak --seed 17 --trace       # everything that happened, and what broke
    python -m benchmarks.soak --first 0 --seeds 200   # many seeds, one line for each failure
"""

import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from random import Random

from regraft.broker.core.settings import BrokerSettings
from regraft.filters import parse
from regraft.protocol.events import attributes
from regraft.testing.broker_node import BrokerNode, World
from regraft.testing.checker import Checker, Violation
from regraft.testing.client_node import ClientNode
from regraft.testing.final_state import remains
from regraft.testing.network import CALM, Clock, Network, Trace
from regraft.testing.script import DURATION, Script, Step, random_event, random_filter, random_script

SESSION_SECONDS = 30.0
PATIENCE = 20.0
"""How many virtual seconds after the last fault everything must have settled: before sessions expire."""


@dataclass(frozen=True)
class Outcome:
    seed: int
    violation: str
    """Empty if all is well."""
    hash: str
    publications: int
    deliveries: int
    faults: Counter[str]
    seconds: float
    """In virtual time."""
    lines: list[str]
    """What happened, if the trace was kept."""


class Simulation:
    """Carries a script out."""

    def __init__(self, seed: int, script: Script, *, keep: bool = False) -> None:
        self.script = script
        self.rng = Random(f"{seed}/director")
        clock = Clock()
        self.trace = Trace(clock, keep)
        network = Network(clock, self.trace, Random(f"{seed}/network"), script.weather)
        settings = BrokerSettings(window=script.window, session_seconds=SESSION_SECONDS)
        self.checker = Checker()
        rng = Random(f"{seed}/nodes")
        self.world = self.new_world(
            World(clock, self.trace, network, rng, self.checker, settings, script, {})
        )
        for name in script.brokers:
            neighbours = [a if b == name else b for a, b in script.links if name in (a, b)]
            self.world.brokers[name] = self.new_broker(name, neighbours)
        self.clients = {name: ClientNode(self.world, name, broker) for name, broker in script.clients}
        self._published = 0
        self.patience = PATIENCE

    def new_world(self, world: World) -> World:
        return world

    def new_broker(self, name: str, neighbours: list[str]) -> BrokerNode:
        return BrokerNode(self.world, name, neighbours)

    def run(self) -> str:
        """What broke; empty if nothing did."""
        clock = self.world.clock
        for broker in self.world.brokers.values():
            clock.after(self.rng.uniform(0, 0.3), broker.start)
        for client in self.clients.values():
            client.connect_later(self.rng.uniform(0.3, 1.0))
        for step in self.script.steps:
            clock.after(step.at, lambda step=step: self._perform(step))  # type: ignore[misc]
        try:
            clock.run(DURATION)
            self._end_of_trouble()
            gone = any(
                client.gone for client in self.clients.values()
            )  # if its goodbye was lost, its session must expire first
            patience = self.patience + (SESSION_SECONDS if gone else 0)
            while (left := self._left(1)) and clock.now < DURATION + patience:
                clock.run(clock.now + 0.5)
        except Violation as fault:
            return str(fault)
        except Exception:  # a core has failed; the traceback says where
            return traceback.format_exc()
        return f"not over: {self._left(8)}" if left else ""

    def _left(self, most: int) -> str:
        there = [(client.core, client.broker) for client in self.clients.values() if not client.gone]
        brokers = [broker.core for broker in self.world.brokers.values()]
        return "; ".join(islice(remains(brokers, there, self.checker), most))

    def _end_of_trouble(self) -> None:
        self.trace.note("director", "no more faults")
        self.world.network.weather = CALM
        for broker in self.world.brokers.values():
            broker.crash_soon = False
            if not broker.up:
                broker.start()
        for client in self.clients.values():
            client.pause = 0.002

    # Steps

    def _perform(self, step: Step) -> None:
        self.trace.note("director", f"{step.kind} {step.who}")
        client = self.clients.get(step.who)
        if client is not None:
            if not client.gone:
                CLIENT_STEPS[step.kind](self, client)
        elif step.kind == "reset":
            if self.world.network.ends:
                self.trace.fault("reset", "")
                self.world.network.reset(self.rng.choice(list(self.world.network.ends)))
        else:
            self._crash(self.world.brokers[step.who], mid_effects=step.kind == "crash in mid-effects")

    def _crash(self, broker: BrokerNode, *, mid_effects: bool) -> None:
        if not broker.up:
            return
        if mid_effects:
            broker.crash_soon = True
        else:
            self.trace.fault("crash", broker.name)
            broker.crash()
        self.world.clock.after(self.rng.uniform(0.1, 2.5), lambda: None if broker.up else broker.start())

    def _publish(self, client: ClientNode, times: int) -> None:
        """Publish random events that an advertisement of the client allows."""
        ids = [id for id in client.core.advertisements if id not in client.retiring]
        filters = [parse(client.core.advertisements[id]) for id in ids]
        drawn = (random_event(self.rng, number) for number in range(self._published, self._published + times))
        allowed = [each for each in drawn if any(filter.matches(attributes(each)) for filter in filters)]
        self._published += times
        if allowed:
            client.publish(allowed)

    def _subscribe(self, client: ClientNode) -> None:
        client.subscribe(random_filter(self.rng))

    def _unsubscribe(self, client: ClientNode) -> None:
        if ids := list(client.core.subscriptions):
            client.unsubscribe(self.rng.choice(ids))

    def _unadvertise(self, client: ClientNode) -> None:
        if ids := list(client.core.advertisements):
            client.retire(self.rng.choice(ids))

    def _move(self, client: ClientNode, *, polite: bool) -> None:
        self.trace.fault("move", client.name)
        client.move(self.rng.choice(self.script.brokers), polite=polite)

    def _slow(self, client: ClientNode) -> None:
        """The client consumes slowly for a while, or nothing at all."""
        self.trace.fault("slow subscriber", client.name)
        client.pause = self.rng.choice((0.1, 0.5, 3.0))
        self.world.clock.after(self.rng.uniform(0.5, 3), lambda: setattr(client, "pause", 0.002))

    def _die(self, client: ClientNode) -> None:
        self.trace.fault("client dies", client.name)
        client.vanish()

    def _burst(self, client: ClientNode) -> None:
        self.trace.fault("burst", client.name)
        self._publish(client, self.rng.randint(30, 150))


CLIENT_STEPS: dict[str, Callable[[Simulation, ClientNode], None]] = {
    "advertise": lambda self, client: client.advertise(random_filter(self.rng)),
    "subscribe": Simulation._subscribe,
    "unsubscribe": Simulation._unsubscribe,
    "unadvertise": Simulation._unadvertise,
    "publish": lambda self, client: self._publish(client, self.rng.randint(1, 8)),
    "burst": Simulation._burst,
    "move": lambda self, client: self._move(client, polite=True),
    "abandon": lambda self, client: self._move(client, polite=False),
    "reconnect": lambda self, client: client.move(client.broker, polite=self.rng.random() < 0.5),
    "slow": Simulation._slow,
    "die": Simulation._die,
    "leave": lambda self, client: client.leave(),
}


def simulate(seed: int, *, keep: bool = False) -> Outcome:
    """Run the script of this seed."""
    return outcome_of(seed, Simulation(seed, random_script(Random(f"{seed}/script")), keep=keep))


def outcome_of(seed: int, simulation: Simulation) -> Outcome:
    violation = simulation.run()
    checker, trace = simulation.checker, simulation.trace
    return Outcome(
        seed,
        violation,
        trace.hash,
        sum(map(len, checker.publications.values())),
        checker.deliveries,
        trace.faults,
        trace.clock.now,
        trace.lines,
    )
