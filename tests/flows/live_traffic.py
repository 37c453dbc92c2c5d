"""Traffic through real switches: numbered events out, what comes in counted, judged against the workload.

Few events are on their way at a time, so that no queue overflows however busy the machine is: what is then
missing was lost by the rules.
"""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random

from tests.flows.flow_traffic import random_event

from regraft.flows import AddressBlock, FlowRules, Patience, RuleChange, install
from regraft.model.routes import Publisher, RouteWorkload
from regraft.testing.switches import SwitchNetworkLab

WINDOW = 8
"""Events on their way at a time."""


class LiveTraffic:
    """Sends events and counts where they arrive."""

    def __init__(self, lab: SwitchNetworkLab, block: AddressBlock, rng: Random) -> None:
        self.lab = lab
        self.block = block
        self.rng = rng
        self.events: list[tuple[str, str]] = []
        self.arrived: list[Counter[str]] = []

    def send(self, publishers: Sequence[Publisher], wanted: RouteWorkload) -> None:
        publisher = self.rng.choice(publishers)
        event = random_event(publisher, self.block.digits, self.rng)
        number = len(self.events)
        self.events.append((publisher.id, event))
        self.arrived.append(Counter())
        self.lab.hosts[publisher.id].send(self.block.event(event), str(number).encode())
        if number % WINDOW == WINDOW - 1:
            self.wait(range(number - WINDOW + 1, number + 1), wanted)

    def wait(self, numbers: Iterable[int], wanted: RouteWorkload, seconds: float = 10.0) -> None:
        """Wait until these have arrived where they are wanted, or time is up."""
        until = time.monotonic() + seconds
        missing = True
        while missing and time.monotonic() < until:
            self.receive()
            missing = any(
                not wanting(wanted, self.events[each][1]) <= self.arrived[each].keys() for each in numbers
            )
            if missing:
                time.sleep(0.002)

    def receive(self) -> None:
        for name, host in self.lab.hosts.items():
            for payload in host.received():
                self.arrived[int(payload)][name] += 1

    def send_many(self, count: int, workload: RouteWorkload) -> list[str]:
        """Send `count` events of all publishers and return what went wrong with them, in words."""
        first = len(self.events)
        for _ in range(count):
            self.send(workload.publishers, workload)
        return self.wrong(workload, workload, first)

    def wrong(self, before: RouteWorkload, after: RouteWorkload, since: int) -> list[str]:
        """What went wrong with the events since this one, while the workload changed."""
        numbers = range(since, len(self.events))
        self.wait(numbers, _staying(before, after))
        # What should not come at all has had time to come.
        time.sleep(0.1)
        self.receive()
        found = []
        for number in numbers:
            event = self.events[number]
            old, new = wanting(before, event[1]), wanting(after, event[1])
            arrived = self.arrived[number]
            if not (old & new <= arrived.keys() <= old | new and set(arrived.values()) <= {1}):
                found.append(
                    f"event {number} {event}: wanted {sorted(old)} to {sorted(new)}, got {dict(arrived)}"
                )
        return found


def wanting(workload: RouteWorkload, event: str) -> set[str]:
    return {each.id for each in workload.subscribers if any(event.startswith(dz) for dz in each.subscription)}


def _staying(before: RouteWorkload, after: RouteWorkload) -> RouteWorkload:
    """The publishers and subscribers for which nothing changes."""
    publishers = tuple(each for each in before.publishers if each in after.publishers)
    return RouteWorkload(publishers, tuple(each for each in before.subscribers if each in after.subscribers))


def install_while_sending(
    traffic: LiveTraffic,
    old: FlowRules,
    new: FlowRules,
    before: RouteWorkload,
    after: RouteWorkload,
    patience: Patience,
) -> RuleChange:
    """Change the rules while the publishers that stay keep sending; raises what the change raises."""
    staying = _staying(before, after)
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(install, new, traffic.lab.addresses, old, patience)
        while not work.done():
            traffic.send(staying.publishers, staying)
    return work.result()
