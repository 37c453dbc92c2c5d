"""The router makes the hosts and carries packets between them: `python -m regraft.testing.hosts.router`.

It is started by `Lab` and spoken to in lines of JSON. Each line of standard input holds the rules for all
pairs; it is answered, when they are in force, with how many packets of each pair have passed or were
dropped so far. The first line of output says which process is the first of each host. It is a process of
its own so that a busy test delays no packet; it imports little so that it starts fast.

When its input ends, or the process that started it has gone, it kills the hosts and removes their files.
"""

import heapq
import json
import os
import selectors
import shutil
import signal
import socket
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

from regraft.testing.hosts.host import NETWORK
from regraft.testing.hosts.making import end_hosts, make_host
from regraft.testing.hosts.rules import Pair, PairRule, Rules

READ_PACKETS = 64
"""From one device in a row, so that one sender does not keep the others waiting."""
LOOK_SECONDS = 1.0
_PREFIX = socket.inet_aton(f"{NETWORK}.0")[:3]


class Router:
    """Packets on their way: `take` decides about them when they are sent, `deliver` hands them over."""

    def __init__(self, devices: dict[int, int], rules: Rules, seed: int) -> None:
        self.devices = devices
        self.rules = rules
        self.passed: Counter[Pair] = Counter()
        self.dropped: Counter[Pair] = Counter()
        self._random = Random(seed)
        self._taken = 0
        self._waiting: list[tuple[float, int, Pair, bytes]] = []

    def take(self, source: int) -> None:
        """Read what a host has sent and decide when it arrives."""
        for _ in range(READ_PACKETS):
            try:
                packet = os.read(self.devices[source], 65536)
            except BlockingIOError:
                return
            if packet[0] >> 4 != 4 or packet[16:19] != _PREFIX:
                continue  # IPv6, which the lab does not have, or multicast
            pair = (source, packet[19])
            if (rule := self.rules.get(pair)) is None:
                continue  # for no host of the lab, or a broadcast
            if (delay := rule.delay(self._random)) is None:
                self.dropped[pair] += 1
                continue
            self._taken += 1  # keeps packets in order that arrive at the same time
            heapq.heappush(self._waiting, (time.monotonic() + delay, self._taken, pair, packet))

    def deliver(self) -> float:
        """Hand over what has arrived by now; returns the seconds until the next packet does."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, pair, packet = heapq.heappop(waiting)
            if self.rules[pair].cut:
                self.dropped[pair] += 1
                continue
            try:
                os.write(self.devices[pair[1]], packet)
                self.passed[pair] += 1
            except OSError:  # the device is down: a program in the host may do that
                self.dropped[pair] += 1
        return max(0.0, waiting[0][0] - time.monotonic()) if waiting else LOOK_SECONDS


def route(router: Router) -> None:
    """Until the input ends or the process that started this one has gone."""
    parent = os.getppid()
    requests = b""
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        for number, device in router.devices.items():
            selector.register(device, selectors.EVENT_READ, number)
        while os.getppid() == parent:
            for key, _ in selector.select(min(router.deliver(), LOOK_SECONDS)):
                if key.data is not None:
                    router.take(key.data)
                    continue
                if not (more := os.read(0, 1 << 16)):
                    return
                *lines, requests = (requests + more).split(b"\n")
                for line in lines:
                    router.rules = read_rules(line)
                    _say({"passed": _listed(router.passed), "dropped": _listed(router.dropped)})


def read_rules(line: bytes | str) -> dict[Pair, PairRule]:
    return {(a, b): PairRule(*rule) for a, b, *rule in json.loads(line)}


def _listed(counts: "Counter[Pair]") -> list[tuple[int, int, int]]:
    return [(*pair, count) for pair, count in counts.items()]


def _say(document: object) -> None:
    print(json.dumps(document), flush=True)


def main(mtu: int, seed: int, folders: list[Path], remove: str) -> None:
    for asked in (signal.SIGINT, signal.SIGTERM):
        signal.signal(asked, signal.SIG_IGN)  # the lab's process decides when it ends
    made: dict[int, tuple[int, int, int]] = {}
    try:
        for number, folder in enumerate(folders, 1):
            made[number] = make_host(number, mtu, folder)
        _say([process for _, process, _ in made.values()])
        route(Router({number: device for number, (device, _, _) in made.items()}, {}, seed))
    finally:
        end_hosts([process for _, process, _ in made.values()])
    # Not after a fault: then the lab's process lives, and reads the log there.
    if remove:
        shutil.rmtree(remove, ignore_errors=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), [Path(each) for each in sys.argv[4:]], sys.argv[3])
