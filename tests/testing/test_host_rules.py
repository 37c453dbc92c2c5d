"""What the router of the lab of hosts decides and does, without a lab: this needs no root."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.testing.hosts.router import Router
from regraft.testing.hosts.rules import PairRule, healed, partitioned, uniform


def delays(rule: PairRule, count: int = 1000, seed: int = 1) -> list[float | None]:
    random = Random(seed)
    return [rule.delay(random) for _ in range(count)]


def test_without_jitter_every_packet_takes_the_latency() -> None:
    assert set(delays(PairRule(latency_ms=20))) == {0.02}


@given(latency=st.floats(0, 1000), jitter=st.floats(0, 1000), seed=st.integers())
def test_jitter_only_adds_to_the_latency(latency: float, jitter: float, seed: int) -> None:
    for delay in delays(PairRule(latency, jitter), 20, seed):
        assert delay is not None
        assert latency / 1000 <= delay <= (latency + jitter) / 1000


def test_packets_are_lost_as_often_as_the_rule_says() -> None:
    lost = delays(PairRule(loss=0.1), 10_000).count(None)
    assert 900 < lost < 1100
    assert delays(PairRule(loss=1.0)).count(None) == 1000
    assert delays(PairRule(loss=0.0)).count(None) == 0


def test_the_same_seed_loses_the_same_packets() -> None:
    rule = PairRule(5, 5, 0.5)
    assert delays(rule, seed=7) == delays(rule, seed=7)
    assert delays(rule, seed=7) != delays(rule, seed=8)


def test_a_cut_lets_nothing_pass() -> None:
    assert set(delays(PairRule(cut=True))) == {None}


@pytest.mark.parametrize("wrong", [{"latency_ms": -1}, {"jitter_ms": -1}, {"loss": 1.1}, {"loss": -0.1}])
def test_impossible_conditions_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="PairRule"):
        PairRule(**wrong)  # type: ignore[arg-type]


def test_a_partition_cuts_both_directions_between_groups_and_nothing_else() -> None:
    rules = partitioned(uniform(5, PairRule(20)), [[1, 2], [3, 4]])
    apart = {(a, b) for a in (1, 2) for b in (3, 4)}
    assert {pair for pair, rule in rules.items() if rule.cut} == apart | {(b, a) for a, b in apart}
    assert {rule.latency_ms for rule in rules.values()} == {20}


def test_three_groups_are_all_apart() -> None:
    assert all(rule.cut for rule in partitioned(uniform(3, PairRule()), [[1], [2], [3]]).values())


def test_healing_ends_cuts_and_leaves_latency_and_loss() -> None:
    before = uniform(4, PairRule(20, 1, 0.5))
    assert healed(partitioned(before, [[1], [2, 3, 4]])) == before


def test_a_host_is_on_one_side_only() -> None:
    with pytest.raises(ValueError, match=r"one side of a partition only: \[2\]"):
        partitioned(uniform(3, PairRule()), [[1, 2], [2, 3]])


# The router, with sockets instead of TUN devices


def packet(to: str, payload: bytes, version: int = 4) -> bytes:
    """An IP header is nothing but an address here."""
    return bytes([version << 4]) + bytes(15) + socket.inet_aton(to) + payload


class Wires:
    """The far ends of the devices of two hosts."""

    def __init__(self, stack: ExitStack, rules: dict[tuple[int, int], PairRule]) -> None:
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2)]
        for each in (end for pair in pairs for end in pair):
            stack.enter_context(each).setblocking(False)
        self.hosts = {number: far for number, (_, far) in enumerate(pairs, 1)}
        self.router = Router({number: near.fileno() for number, (near, _) in enumerate(pairs, 1)}, rules, 0)

    def send(self, source: int, data: bytes) -> None:
        self.hosts[source].send(data)
        self.router.take(source)

    def received(self, host: int) -> list[bytes]:
        found = []
        while True:
            try:
                found.append(self.hosts[host].recv(1 << 16)[20:])
            except BlockingIOError:
                return found


@pytest.fixture
def wires() -> Iterator[Wires]:
    with ExitStack() as stack:
        yield Wires(stack, uniform(2, PairRule()))


def test_packets_arrive_in_order_where_they_are_sent_to(wires: Wires) -> None:
    for number in range(200):
        wires.send(1, packet("10.77.0.2", b"%d" % number))
        wires.router.deliver()
    assert wires.received(2) == [b"%d" % number for number in range(200)]
    assert wires.received(1) == []
    assert (wires.router.passed, wires.router.dropped) == ({(1, 2): 200}, {})


def test_a_packet_waits_for_its_latency(wires: Wires) -> None:
    wires.router.rules = uniform(2, PairRule(latency_ms=60_000))
    wires.send(1, packet("10.77.0.2", b"late"))
    assert 0 < wires.router.deliver() <= 60
    assert wires.received(2) == []


def test_a_cut_also_drops_what_is_on_its_way(wires: Wires) -> None:
    wires.send(1, packet("10.77.0.2", b"too late"))
    wires.router.rules = uniform(2, PairRule(cut=True))
    wires.router.deliver()
    assert wires.received(2) == []
    assert wires.router.dropped == {(1, 2): 1}


@pytest.mark.parametrize("to", ["224.0.0.2", "10.77.0.255", "10.77.0.9", "10.78.0.2", "10.77.0.1"])
def test_what_is_for_no_other_host_of_the_lab_goes_nowhere(wires: Wires, to: str) -> None:
    wires.send(1, packet(to, b"lost"))
    wires.send(1, packet("10.77.0.2", b"IPv6", version=6))
    wires.router.deliver()
    assert (wires.received(1), wires.received(2)) == ([], [])
