"""Components on virtual hosts: moves, clones, crashes, lost messages, a directory with bad days.

`run(seed)` is one run; the same seed gives the same one. The real `HostCore`s decide; network, disk,
directory and workers are models. What is checked: at most one place runs a component at any time, every
answered call is in the state of its component exactly once, the steps of tasks are there once and in order,
and in the end everything is owned by one place and every call is answered.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

import msgspec
from tests.components.simulated_host import STEPS, Caller, Host, pack

from regraft.components.core import HostCore
from regraft.components.effects import (
    Effect,
)
from regraft.components.life import Life
from regraft.components.messages import (
    Between,
    Entry,
    Found,
    Offer,
    Reply,
    Want,
)
from regraft.testing.network import Clock

TROUBLE, CALM, END = 6.0, 14.0, 30.0


@dataclass
class Weather:
    loss: float
    slowest: float
    directory: float
    """The chance that a request to the directory is not answered; it may happen nevertheless, or late."""


@dataclass
class Outcome:
    seed: int
    violations: list[str] = field(default_factory=list)
    moved: int = 0
    refused: int = 0
    cloned: int = 0
    crashes: int = 0
    answered: int = 0
    killed: int = 0


class World:
    def __init__(self, seed: int, make: Callable[..., HostCore] = HostCore) -> None:
        self.rng = rng = Random(f"{seed}/components")
        self.make = make
        self.clock = Clock()
        self.outcome = Outcome(seed)
        self.entries: dict[str, Found] = {}
        self.weather = Weather(
            rng.choice((0, 0.05, 0.3)), rng.choice((0.003, 0.03, 0.2)), rng.choice((0, 0.05, 0.3))
        )
        self.hosts = {f"h{i}": Host(self, f"h{i}") for i in range(rng.choice((2, 3, 4)))}
        self.names = [f"c{i}" for i in range(rng.choice((1, 2, 3)))]
        self.callers = [Caller(self, f"caller{i}") for i in range(rng.choice((1, 2, 3)))]
        self.clones: set[str] = set()

    # Network and directory

    def lost(self) -> bool:
        return self.rng.random() < self.weather.loss

    def delay(self) -> float:
        return self.rng.uniform(0.0003, self.weather.slowest)

    def carry(self, sender: Host, to: str, message: Between) -> None:
        host = self.hosts[to]

        def arrive() -> None:
            if not host.up:
                return
            if isinstance(message, Offer) and message.image.bundle not in host.bundles:
                self.carry(host, sender.name, Want(tenure=message.image.tenure))
                return
            host.perform(host.core.received(sender.name, message, host.now))

        for _ in range(2 if self.rng.random() < 0.05 else 1):
            if not self.lost():
                self.clock.after(self.delay(), arrive)

    def carry_code(self, to: str, bundle: str) -> None:
        if not self.lost():
            self.clock.after(self.delay(), lambda: self.hosts[to].bundles.add(bundle))

    def respond(self, via: Caller, reply: Reply) -> None:
        if not self.lost():
            self.clock.after(self.delay(), lambda: via.replied(reply))

    def directory(
        self, host: Host, tenure: str, request: Callable[[], object], answer: Callable[..., list[Effect]]
    ) -> None:
        """A request may be lost, or happen late, also after its host has crashed; or its answer be lost."""
        happens = self.rng.uniform(0.001, 0.01)
        bad = self.rng.random() < self.weather.directory
        kind = self.rng.choice(("never", "late", "unheard")) if bad else "well"
        if kind == "late":
            happens = self.rng.uniform(0.1, 2.0)
        if kind in ("never", "late"):
            host.later(0.1, lambda: host.perform(host.core.away(tenure, host.now)))
            if kind == "late":
                self.clock.after(happens, partial(_unheard, request))
            return

        def happen() -> None:
            result = request()
            if kind == "unheard":
                host.later(0.1, lambda: host.perform(host.core.away(tenure, host.now)))
            else:
                host.later(0.001, lambda: host.perform(answer(tenure, result, host.now)))

        self.clock.after(happens, happen)

    def claim(self, entry: Entry, version: int | None) -> int | None:
        found = self.entries.get(entry.name)
        if (found.version if found else None) != version:
            return None
        after = 0 if version is None else version + 1
        self.entries[entry.name] = Found(entry, after)
        return after

    def unlist(self, name: str, version: int) -> Found | None:
        found = self.entries.get(name)
        if found is not None and found.version == version:
            del self.entries[name]
        return self.entries.get(name)

    # What is done

    def told(self, order: object, refused: str) -> None:
        self.outcome.refused += bool(refused)
        self.outcome.moved += order == "migrate" and not refused
        self.outcome.cloned += order == "clone" and not refused

    def _order(self) -> None:
        name, to = self.rng.choice(self.names), self.rng.choice(sorted(self.hosts))
        found = self.entries.get(name)
        if found is None or not (host := self.hosts[found.entry.place]).up:
            return
        if self.rng.random() < 0.85:
            host.perform(host.core.migrate(name, to, "migrate", host.now))
        else:
            copy = f"{name}@{to}{self.rng.randint(0, 9)}"
            self.clones.add(copy)
            host.perform(host.core.clone(name, to, copy, "clone", host.now))

    def _fault(self) -> None:
        host = self.hosts[self.rng.choice(sorted(self.hosts))]
        if self.rng.random() < 0.2:
            host.kill_worker()
        elif host.up:
            host.crash()
            self.clock.after(self.rng.uniform(0.01, 1.5), host.come_back)

    def _recover(self) -> None:
        self.weather = Weather(0, 0.01, 0)
        for host in self.hosts.values():
            host.come_back()

    # Checks

    def check_running(self, host: Host, tenure: str) -> None:
        """A host that executes anything is the owner, whatever is under way."""
        name = tenure.split("/", maxsplit=1)[0]
        found = self.entries.get(name)
        if found is None or found.entry.place != host.name or found.entry.tenure != tenure:
            self._wrong(f"{host.name} runs {tenure}, and the directory says {found}")

    def _wrong(self, text: str) -> None:
        self.outcome.violations.append(f"{self.clock.now:.3f} {text}")

    def _final(self) -> None:
        for name in [*self.names, *sorted(self.clones & self.entries.keys())]:
            found = self.entries.get(name)
            here = [
                (host.name, each)
                for host in self.hosts.values()
                for each in host.core.residents.values()
                if each.name == name
            ]
            if found is None or [place for place, _ in here] != [found.entry.place]:
                self._wrong(f"{name}: directory {found}, residents {[(p, r.life) for p, r in here]}")
                continue
            resident = here[0][1]
            if resident.life is not Life.RUNNING:
                self._wrong(f"{name} is {resident.life} in the end")
            if name in self.names:
                self._check_log(name, msgspec.msgpack.decode(resident.work.cells["log"], type=list[str]))
        for host in self.hosts.values():
            if host.disk.keys() != host.core.residents.keys():
                self._wrong(f"{host.name} keeps {sorted(host.disk)} and has {sorted(host.core.residents)}")

    def _check_log(self, name: str, log: list[str]) -> None:
        if len(set(log)) != len(log):
            self._wrong(f"{name}: executed twice: {sorted(each for each in log if log.count(each) > 1)}")
        for caller in self.callers:
            for number in caller.open:
                self._wrong(f"{caller.name} {number} was never answered")
            for number, (component, method, answer) in caller.answers.items():
                if component == name and not answer.fault:
                    self._check_call(f"{caller.name} {number}", method, name, log)

    def _check_call(self, call: str, method: str, name: str, log: list[str]) -> None:
        wanted = [f"{call} step {i}" for i in range(STEPS)] if method == "task" else [call]
        if [each for each in log if each in wanted] != wanted:
            self._wrong(f"{call} was answered and is not in the state of {name} as it should be")

    def run(self) -> Outcome:
        rng = self.rng
        for host in self.hosts.values():
            host.start()
        weather, self.weather = self.weather, Weather(0, 0.003, 0)
        for name in self.names:
            host = self.hosts[rng.choice(sorted(self.hosts))]
            host.bundles.add("bundle")
            host.perform(host.core.create(name, "bundle", {"log": pack([])}, "create", 0.0))
        self.clock.run(0.5)
        self.weather = weather
        for _ in range(rng.randint(5, 60)):
            caller, method = rng.choice(self.callers), rng.choice(("call", "call", "call", "task"))
            self.clock.after(rng.uniform(0, TROUBLE), partial(caller.call, rng.choice(self.names), method))
        for _ in range(rng.randint(1, 15)):
            self.clock.after(rng.uniform(0, TROUBLE), self._order)
        for _ in range(rng.choice((0, 1, 3, 8))):
            self.clock.after(rng.uniform(0, TROUBLE), self._fault)
        self.clock.after(TROUBLE, self._recover)
        self.clock.run(CALM)
        for _ in range(3):
            self._order()
        self.clock.run(END)
        self._final()
        return self.outcome


def _unheard(request: Callable[[], object]) -> None:
    request()


def run(seed: int, make: Callable[..., HostCore] = HostCore) -> Outcome:
    return World(seed, make).run()
