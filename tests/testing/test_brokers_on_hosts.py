"""Brokers on hosts: a partition loses nothing, and they measure what the network between them does."""

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.segments.stored import records

from regraft.broker.io.__main__ import to_json
from regraft.broker.io.configuration import Allowed, Configuration, Telemetry
from regraft.client import TimedOut
from regraft.client.sync import Session, connect
from regraft.model import Topology
from regraft.testing.hosts import Lab, LabHost, unavailable

PORT = 7000
PATIENCE = 180.0
"""Seconds; on a machine that is not busy, everything takes a few."""
SILENCE = "nothing heard for 2 seconds"
HASTY = Allowed(heartbeat_seconds=0.5, silent_seconds=2.0)
"""So that the partition soon breaks the connections between brokers and does not only delay them."""
pytestmark = pytest.mark.xdist_group("hosts")


def told(hosts: list[LabHost]) -> list[tuple[int, str, list[str]]]:
    """A chain of brokers, one on each host, which know each other's addresses from the beginning."""
    ids = [host.name for host in hosts]
    chain = Topology.of(pairwise(ids), ids)
    addresses = json.dumps({host.name: (host.address, PORT) for host in hosts})
    brokers = []
    for host in hosts:
        near = tuple(sorted(chain.neighbours[host.name]))
        configuration = Configuration(
            host.name,
            near,
            host=host.address,
            port=PORT,
            state=host.folder,
            allowed=HASTY,
            telemetry=Telemetry(host.folder / "telemetry", health_seconds=0.5, segment_seconds=0.1),
        )
        brokers.append((host.first_process, str(host.folder), [to_json(configuration), addresses]))
    return brokers


@contextmanager
def brokers_on(hosts: list[LabHost]) -> Iterator[None]:
    program = Path(__file__).with_name("forked_brokers.py")
    environment = os.environ | {"REGRAFT_LOG": "INFO"}
    with subprocess.Popen(
        [sys.executable, str(program)], stdin=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None
        print(json.dumps(told(hosts)), file=process.stdin, flush=True)
        eventually(lambda: all(logged(host).count('"started": true') for host in hosts))
        yield


def logged(host: LabHost) -> str:
    """What the broker on this host has said so far."""
    log = host.folder / "broker.log"
    return log.read_text() if log.exists() else ""


def eventually(holds: Callable[[], bool]) -> None:
    for _ in range(6000):
        if holds():
            return
        time.sleep(0.03)
    raise AssertionError("this did not happen within minutes")


@contextmanager
def session(host: LabHost) -> Iterator[Session]:
    """A client of the broker on this host. Its thread is started inside, and so stays there."""
    with ExitStack() as stack:
        with host.inside():
            made = stack.enter_context(connect(f"{host.address}:{PORT}", timeout=PATIENCE))
        yield made


def test_a_partition_that_heals_loses_repeats_and_reorders_nothing() -> None:
    if reason := unavailable():
        warnings.warn(f"NOTHING WAS TESTED ON SEVERAL HOSTS: {reason}", stacklevel=1)
        pytest.skip(reason)
    with Lab(8, latency_ms=20) as lab, brokers_on(lab.hosts):
        first, *_, last = lab.hosts
        left, right = lab.hosts[3:5]

        def broken() -> list[int]:
            return [logged(host).count(SILENCE) for host in (left, right)]

        with session(last) as subscriber, session(first) as publisher:
            subscription = subscriber.subscribe("n >= 0", timeout=PATIENCE)

            def send(start: int, end: int) -> None:
                for n in range(start, end):
                    publisher.send({"n": n}, bytes(100), timeout=PATIENCE)

            def received(count: int) -> list[object]:
                events = [subscription.get(timeout=PATIENCE) for _ in range(count)]
                return [event.attributes["n"] for event in events if event is not None]

            send(0, 200)
            got = received(50)  # the others are on their way or unread
            before = broken()  # on a busy machine that may have happened already
            lab.partition(lab.hosts[:4], lab.hosts[4:])
            send(200, 400)
            eventually(lambda: all(now > then for now, then in zip(broken(), before, strict=True)))
            eventually(lambda: lab.packets(left, right).dropped > 0)
            send(400, 500)
            lab.heal()
            send(500, 600)
            got += received(550)
            assert got == list(range(600))
            with pytest.raises(TimedOut):
                subscription.get(timeout=0.2)
            publisher.flush(timeout=PATIENCE)


def health(host: LabHost) -> list[dict[str, Any]]:
    """The health records of the broker on this host."""
    return records(host.folder / "telemetry", "health")


def least_round_trips(hosts: list[LabHost]) -> dict[tuple[str, str], float]:
    """Of each ordered pair, in milliseconds."""
    found: dict[tuple[str, str], float] = {}
    for host in hosts:
        for record in health(host):
            for other, micros in record["round_trips"].items():
                pair = (host.name, other)
                found[pair] = min(micros / 1000, found.get(pair, micros))
    return found


def test_round_trips_of_links_and_of_other_pairs_are_those_of_the_network() -> None:
    if reason := unavailable():
        warnings.warn(f"NOTHING WAS TESTED ON SEVERAL HOSTS: {reason}", stacklevel=1)
        pytest.skip(reason)
    with Lab(4) as lab:
        delays = dict(zip(combinations(lab.hosts, 2), (5.0, 12.0, 20.0, 8.0, 15.0, 3.0), strict=True))
        for (one, other), ms in delays.items():
            lab.latency(one, other, ms)
            lab.latency(other, one, ms)
        expected = {(one.name, other.name): 2 * ms for (one, other), ms in delays.items()}
        expected |= {(other, one): ms for (one, other), ms in expected.items()}

        def as_expected() -> bool:
            found = least_round_trips(lab.hosts)
            assert all(found[pair] >= expected[pair] for pair in found), "no packet is faster than that"
            return all(pair in found and found[pair] < ms + 2.0 for pair, ms in expected.items())

        with brokers_on(lab.hosts):
            eventually(as_expected)
            one, other, *_ = lab.hosts
            for record in health(one)[3:]:
                assert other.name in record["round_trips"], "neighbours are in every record"

            def latest() -> dict[str, Any]:
                return health(one)[-1]

            lab.latency(one, other, 60.0)  # the link is idle meanwhile
            eventually(lambda: latest()["round_trips"].get(other.name, 0) > 64_000)
            _a_busy_link_has_a_rate(lab.hosts)
        assert not any(word in logged(host) for host in lab.hosts for word in ("WARNING", "ERROR"))


def _a_busy_link_has_a_rate(hosts: list[LabHost]) -> None:
    """A link that has nothing to carry but heartbeats has no rate."""
    one, other, *_ = hosts
    assert not any(each["delivery_rates"] for each in health(one))
    with session(other) as subscriber, session(one) as publisher:
        subscription = subscriber.subscribe("n >= 0", timeout=PATIENCE)

        def known() -> bool:
            for n in range(40):
                publisher.send({"n": n}, bytes(100_000), timeout=PATIENCE)
            for _ in range(40):
                assert subscription.get(timeout=PATIENCE) is not None
            return other.name in health(one)[-1]["delivery_rates"]

        eventually(known)
        subscription.close()  # confirms the last event: the publisher waits for that
        publisher.flush(timeout=PATIENCE)
    rates = [each["delivery_rates"][other.name] for each in health(one) if each["delivery_rates"]]
    assert all(10_000 < rate < 10**10 for rate in rates), rates
