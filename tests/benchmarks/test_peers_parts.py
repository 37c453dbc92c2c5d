from dataclasses import dataclass

import pytest
from benchmarks._load import Received, Sent
from benchmarks._load_run import Outcome
from benchmarks._peers import Peer, Unavailable
from benchmarks._peers_mqtt import Mosquitto
from benchmarks._peers_parts import Bench, chain, latency, throughput
from benchmarks._table import Line


def outcome(rate: float, p99: float = 100.0, lost: int = 0) -> Outcome:
    return Outcome(rate, Sent(0, 1, 0.0), Received(1, lost, 0, 0, p99 / 2, p99, p99, 0.0))


@dataclass(frozen=True)
class Told(Bench):
    """Measures nothing: every peer has the figures that the test says, or is not there."""

    figures: tuple[tuple[str, Outcome], ...] = ()

    def throughput(self, peer: Peer, brokers: int) -> list[Outcome]:
        figures = dict(self.figures)
        if peer.name not in figures:
            raise Unavailable("install it")
        return [figures[peer.name]]

    def latency(self, peer: Peer, rate: float) -> list[Outcome]:
        return self.throughput(peer, 1)


@pytest.fixture(autouse=True)
def _no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    for peer in ("_peers_mqtt.Mosquitto", "_peers_mqtt.Amqtt", "_peers_rabbitmq.RabbitMQ"):
        monkeypatch.setattr(f"benchmarks.{peer}.version", lambda _: "1.0")


def told(**figures: Outcome) -> Told:
    ours = Mosquitto(name="Ours")
    return Told(1, 1.0, 1.0, lambda _: None, ours if "Ours" in figures else None, tuple(figures.items()))


def named(lines: list[Line]) -> dict[str, Line]:
    return {line.what.split(":")[0]: line for line in lines}


def test_ours_is_compared_with_each_peer_that_it_must_beat() -> None:
    lines = named(list(throughput(told(Mosquitto=outcome(100), amqtt=outcome(11), Ours=outcome(105)))))
    assert (lines["Ours / Mosquitto"].measured, lines["Ours / Mosquitto"].met) == ("1.05 times", True)
    assert (lines["Ours / amqtt"].measured, lines["Ours / amqtt"].met) == ("9.55 times", False)


def test_a_peer_that_is_not_there_costs_only_its_own_lines() -> None:
    lines = named(list(chain(told(Mosquitto=outcome(100), Ours=outcome(105)))))
    assert lines["RabbitMQ"].measured == "install it"
    assert lines["Ours 1.0"].met
    assert not any("/" in name for name in lines)


def test_without_ours_nothing_is_promised() -> None:
    assert {line.met for line in throughput(told(Mosquitto=outcome(100), amqtt=outcome(11)))} == {None}


def test_what_ours_loses_is_a_broken_promise_and_what_a_peer_loses_is_said() -> None:
    lines = named(list(throughput(told(Mosquitto=outcome(9, lost=2), Ours=outcome(9, lost=1)))))
    assert (lines["Ours 1.0"].met, lines["Mosquitto 1.0"].met) == (False, None)
    assert lines["Mosquitto 1.0"].measured.endswith(", 2 lost")


def test_the_tail_of_ours_may_be_three_times_mosquittos() -> None:
    for p99, met in ((300.0, True), (301.0, False)):
        lines = named(list(latency(told(Mosquitto=outcome(1), Ours=outcome(1, p99)))))
        assert lines["Ours / Mosquitto"].met is met
