"""Events on their way through simulated switches while the rules are changed, one step at a time.

A step is anything that the world may do next: a switch carries out a message (any one that no barrier
holds back), a copy of an event moves by one switch, a publisher sends. Which one comes next is random:
one seed, one run. `judge` says what was lost, delivered twice, delivered to the wrong host or looped.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from regraft.flows.block import AddressBlock
from regraft.flows.changing import RuleChange
from regraft.flows.rendering import FlowRules
from regraft.flows.rules import Barrier, Message, Phase
from regraft.flows.simulated import Packet, SimulatedSwitch, filled
from regraft.flows.wiring import Port
from regraft.model.routes import Publisher, RouteWorkload


class Sent(NamedTuple):
    """An event: whose, and with which digits. Its number is its place in `Traffic.sent`."""

    publisher: str
    dz: str


class _Copy(NamedTuple):
    event: int
    at: Port
    packet: Packet


class Traffic:
    """The switches, what is on its way between them, and what has arrived where."""

    def __init__(self, old: FlowRules, new: FlowRules, rng: Random, haste: int = 12) -> None:
        self.rng = rng
        self.haste = haste
        """Fewer than this many other things happen between two messages."""
        self.block: AddressBlock = new.block
        self.switches: dict[str, SimulatedSwitch] = filled(
            {switch: old.switches.get(switch, ()) for switch in {*old.switches, *new.switches}}
        )
        self.far = {**old.wiring.far, **new.wiring.far}
        self.host_at = {**old.wiring.host_at, **new.wiring.host_at}
        self.hosts = {**new.wiring.hosts, **old.wiring.hosts}
        """A host that is in both wirings keeps its addresses; publishers that move do not send."""
        self.sent: list[Sent] = []
        self.arrived: list[Counter[str]] = []
        self.visits: list[Counter[str]] = []
        self.flying: list[_Copy] = []

    def send(self, publisher: str, dz: str) -> None:
        host = self.hosts[publisher]
        self.sent.append(Sent(publisher, dz))
        self.arrived.append(Counter())
        self.visits.append(Counter())
        packet = Packet(self.block.family, host.address, self.block.event(dz))
        self.flying.append(_Copy(len(self.sent) - 1, Port(host.switch, host.port), packet))

    def hop(self, place: int) -> None:
        """Move one copy through one switch."""
        event, (switch, in_port), packet = self.flying.pop(place)
        self.visits[event][switch] += 1
        if self.visits[event][switch] > 1:
            # Counted as a loop; if the copy moved on, it might never stop.
            return
        for number, copy in self.switches[switch].process(packet, in_port):
            port = Port(switch, number)
            if port in self.far:
                self.flying.append(_Copy(event, self.far[port], copy))
            elif port in self.host_at:
                name = self.host_at[port]
                right = copy.destination == self.hosts[name].address and copy.mac == self.hosts[name].mac
                self.arrived[event][name if right else f"{name} with a foreign address"] += 1

    def land(self) -> None:
        """Let every copy that is on its way arrive."""
        while self.flying:
            self.hop(self.rng.randrange(len(self.flying)))

    def change(self, phases: Iterable[Phase], publishers: Sequence[Publisher], digits: int) -> None:
        """Carry out the phases while these publishers send."""
        for phase in phases:
            waiting = {switch: _windows(each) for switch, each in phase.messages.items()}
            while waiting:
                for _ in range(self.rng.randrange(self.haste)):
                    self._something(publishers, digits)
                switch = self.rng.choice(sorted(waiting))
                window = waiting[switch][0]
                self.switches[switch].apply(window.pop(self.rng.randrange(len(window))))
                if not window:
                    waiting[switch].popleft()
                    if not waiting[switch]:
                        del waiting[switch]
            if phase.drain:
                self.land()

    def _something(self, publishers: Sequence[Publisher], digits: int) -> None:
        if self.flying and self.rng.random() < 0.6:
            self.hop(self.rng.randrange(len(self.flying)))
        elif publishers:
            publisher = self.rng.choice(publishers)
            self.send(publisher.id, random_event(publisher, digits, self.rng))


def random_event(publisher: Publisher, digits: int, rng: Random) -> str:
    """All digits of an event that this publisher has advertised."""
    dz = rng.choice(publisher.advertisement)
    return dz + "".join(rng.choices("01", k=digits - len(dz)))


def run_change(
    old: FlowRules, new: FlowRules, made: RuleChange, before: RouteWorkload, after: RouteWorkload, rng: Random
) -> Traffic:
    """Carry out the whole change while the publishers that stay send; then let all copies arrive."""
    digits = new.block.digits
    traffic = Traffic(old, new, rng)
    known = {publisher.id: publisher for publisher in before.publishers}
    staying = [
        each
        for each in after.publishers
        if each.id in known and known[each.id][1:] == each[1:] and each.advertisement
    ]
    traffic.change(made.phases, staying, digits)
    traffic.land()
    return traffic


def judge(traffic: Traffic, before: RouteWorkload, after: RouteWorkload, since: int = 0) -> list[str]:
    """What went wrong, in words; empty if nothing did."""
    faults: list[str] = []
    digits = traffic.block.digits
    for number, (publisher, dz) in enumerate(traffic.sent[since:], since):
        full = dz.ljust(digits, "0")
        wanted, wanted_then = _wanting(before, full), _wanting(after, full)
        what = f"event {number} of {publisher} with {dz}"
        for host in sorted({*wanted, *wanted_then, *traffic.arrived[number]}):
            times = traffic.arrived[number][host]
            least = int(host in wanted and host in wanted_then)
            most = int(host in wanted or host in wanted_then)
            if not least <= times <= most:
                faults.append(f"{what} arrived {times} times at {host}, wanted {least} to {most}")
        faults += (
            f"{what} came to {switch} {n} times" for switch, n in traffic.visits[number].items() if n > 1
        )
    return faults


def _wanting(workload: RouteWorkload, event: str) -> set[str]:
    return {each.id for each in workload.subscribers if any(event.startswith(dz) for dz in each.subscription)}


def _windows(messages: Iterable[Message]) -> deque[list[Message]]:
    """Messages between two barriers may be carried out in any order."""
    windows: deque[list[Message]] = deque([[]])
    for message in messages:
        if isinstance(message, Barrier):
            windows.append([])
        else:
            windows[-1].append(message)
    return deque(window for window in windows if window)


def held(traffic: Traffic) -> Mapping[str, set[object]]:
    """The rules that the switches hold now."""
    return {switch: set(each.rules.values()) for switch, each in traffic.switches.items()}
