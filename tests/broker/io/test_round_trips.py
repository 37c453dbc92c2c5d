"""Round trips and throughput are what the kernel says, and a broker that is probed hardly notices it."""

import asyncio
import logging
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from tests.broker.io.peers import chain, finish, overlay
from tests.broker.io.test_entrance import Authority
from tests.segments.stored import records

from regraft.broker.io import round_trips
from regraft.broker.io.configuration import Configuration, Telemetry
from regraft.broker.io.overlay import Overlay
from regraft.broker.io.round_trips import INFO_BYTES, Probing, TcpFacts, read_facts

OFTEN = 0.1
BROKERS = [f"b{n}" for n in range(4)]


@contextmanager
def loopback() -> Iterator[tuple[socket.socket, socket.socket]]:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as one,
        listener.accept()[0] as other,
    ):
        yield one, other


def told(connected: socket.socket) -> bytes:
    return connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO_BYTES)


def said_by_ss(connected: socket.socket) -> str:
    """What iproute2 reads of the same connection by another interface of the kernel (netlink)."""
    port = connected.getsockname()[1]
    found = subprocess.run(
        ["ss", "-tinH", f"sport = :{port}"], capture_output=True, text=True, check=True, timeout=30
    )
    return next(line for line in found.stdout.splitlines() if "minrtt" in line)


def number(name: str, text: str) -> float:
    found = re.search(rf"\b{name}[: ]([\d.]+)", text)
    assert found, (name, text)
    return float(found[1])


def test_the_facts_of_a_connection_are_those_that_another_program_reads() -> None:
    limited = set()
    with loopback() as (one, other):
        for size in (1, 2**24, 3):  # a sender without much to send, one with much, and one after that
            sent = one.send(bytes(size)) if size < 10 else 0
            one.setblocking(False)
            while sent < size:
                try:
                    sent += one.send(bytes(size - sent))
                except BlockingIOError:
                    other.recv(2**16)
            facts, said = read_facts(told(one)), said_by_ss(one)
            assert facts.round_trip is not None
            assert facts.round_trip / 1000 == pytest.approx(number("minrtt", said), abs=0.001)
            limited.add("app_limited" in said)
            if "app_limited" in said:
                assert facts.bytes_per_second is None
            else:
                assert facts.bytes_per_second == pytest.approx(number("delivery_rate", said) / 8, rel=0.01)
    assert True in limited


def test_what_an_older_kernel_does_not_answer_is_not_known() -> None:
    with loopback() as (one, _):
        info = told(one)
    assert read_facts(info).round_trip is not None
    for length in (0, 7, 104, 151):
        assert read_facts(info[:length]) == TcpFacts()
    assert read_facts(info[:167]) == TcpFacts(read_facts(info).round_trip)


def test_a_connection_that_is_not_made_has_no_round_trip() -> None:
    with socket.socket() as idle:
        assert read_facts(told(idle)) == TcpFacts()


def test_a_rate_that_the_link_limited_is_known_and_another_is_not() -> None:
    info = bytearray(168)
    info[160:168] = (10**9).to_bytes(8, "little")
    assert read_facts(bytes(info)).bytes_per_second == 10**9
    info[7] = 0b101
    assert read_facts(bytes(info)).bytes_per_second is None


def health(folder: Path) -> list[dict[str, Any]]:
    return sorted(records(folder, "health"), key=lambda each: each["at"])


def measured(folder: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in health(folder):
        found.setdefault(each["broker"], set()).update(each["round_trips"])
    return found


async def probed(running: Overlay, seconds: float) -> None:
    await asyncio.sleep(seconds)
    for id, server in running.servers.items():
        assert server.fault == ""
        assert server.counters.refused == 0
        assert server.core is not None
        assert set(server.core.inspect().links.values()) == {"up"}, id
        peers = [each for each in server.connections.values() if each.hello is None]
        assert len(peers) <= 6  # of probes that have not ended yet


@pytest.mark.parametrize("probes", [0, 2])
def test_brokers_record_round_trips_to_neighbours_and_to_those_that_they_probe(
    tmp_path: Path, probes: int, caplog: pytest.LogCaptureFixture
) -> None:
    base = Configuration("", telemetry=Telemetry(tmp_path, health_seconds=OFTEN, probes=probes))

    async def scenario() -> None:
        async with overlay(chain(4), base) as running:
            await probed(running, 2.0)

    with caplog.at_level(logging.INFO):
        finish(scenario())
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []
    near = {"b0": {"b1"}, "b1": {"b0", "b2"}, "b2": {"b1", "b3"}, "b3": {"b2"}}
    others = {id: {*BROKERS} - {id} for id in BROKERS}
    assert measured(tmp_path) == (others if probes else near)
    for each in health(tmp_path)[8:]:
        assert each["round_trips"].keys() >= near[each["broker"]], "neighbours are in every record"
        assert all(0 < micros < 10_000_000 for micros in each["round_trips"].values())
        assert each["delivery_rates"].keys() <= near[each["broker"]]


def test_brokers_that_speak_tls_are_probed_without_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    authority = Authority(tmp_path, trustme.CA())
    tls = {id: authority.tls(id) for id in BROKERS}
    telemetry = Telemetry(tmp_path / "telemetry", health_seconds=OFTEN)

    async def scenario() -> None:
        running = Overlay(
            chain(4), lambda id, near: Configuration(id, near, tls=tls[id], telemetry=telemetry)
        )
        async with running:
            await probed(running, 2.0)

    with caplog.at_level(logging.INFO):
        finish(scenario())
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []
    assert measured(tmp_path / "telemetry") == {id: {*BROKERS} - {id} for id in BROKERS}


def test_probes_come_to_every_broker_in_turn_and_forget_those_that_do_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(round_trips, "PROBE_SECONDS", 0.3)

    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=64) as listener, socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            candidates = {f"c{n}": listener.getsockname() for n in range(5)}
            candidates |= {"odd": ("no host..", 1), "gone": closed.getsockname()}
            addresses = {"a": listener.getsockname(), "b0": closed.getsockname()}
            probing = Probing("b0", addresses, candidates, budget=2)
            found: list[set[str]] = []
            for _ in range(4):
                probing.probe()
                probing.probe()  # no more at a time than the budget
                await asyncio.sleep(0.6)
                found.append(set(probing.take([]).round_trips))
            assert found[0] == {"a", "c0"}
            assert found[1] == {"c1", "c2"}
            assert found[2] == {"c3", "c4"}
            assert found[3] == set()
            assert candidates.keys() == {f"c{n}" for n in range(5)}
            assert probing.take([]).round_trips == {}, "each is told once"
            probing.probe()
            await probing.stop()

    finish(scenario())


def test_a_broker_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(round_trips, "PROBE_SECONDS", 0.2)

    async def scenario() -> None:
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            waiting = [socket.socket() for _ in range(3)]  # they fill the queue of the listener
            for each in waiting:
                each.setblocking(False)
                each.connect_ex(full.getsockname())
            candidates = {"c": full.getsockname()}
            probing = Probing("b0", {}, candidates, budget=1)
            probing.probe()
            while candidates:
                await asyncio.sleep(0.02)
            assert probing.take([]).round_trips == {}
            for each in waiting:
                each.close()

    finish(scenario())
