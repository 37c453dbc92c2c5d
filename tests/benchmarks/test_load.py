import socket
import threading
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pytest
from benchmarks._load import PROBE, Load, Received, judged
from benchmarks._load_amqp import CONFIRM, Confirms
from benchmarks._load_mqtt import MqttPublishing, MqttSubscribing

LOAD = Load(10, payload=32, window=8)


Made = TypeVar("Made")


def connected(answers: bytes, make: Callable[[int], Made]) -> Made:
    """What `make` makes of the port of a broker that says the same whatever it hears."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with server.accept()[0] as accepted:
                accepted.sendall(answers)
                accepted.recv(1024)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            return make(server.getsockname()[1])
        finally:
            thread.join()


def publishing() -> MqttPublishing:
    return connected(b"\x20\2\0\0", lambda port: MqttPublishing(port, LOAD))


def subscribing(granted: int = 1) -> MqttSubscribing:
    answers = b"\x20\2\0\0" + bytes([0x90, 3, 0, 1, granted])
    return connected(answers, lambda port: MqttSubscribing(port, LOAD))


def heads(packets: bytes, cut: int) -> tuple[list[list[int]], bytes]:
    """What a subscriber makes of these packets when they arrive in two pieces."""
    subscriber = subscribing()
    first, one = subscriber.messages(packets[:cut])
    second, two = subscriber.messages(packets[cut:])
    return np.concatenate([first, second]).view("<u8").tolist(), one + two


class TestMqtt:
    @pytest.mark.parametrize("cut", [0, 1, 44, 100])
    def test_a_subscriber_reads_and_acknowledges_what_a_publisher_writes(self, cut: int) -> None:
        packets = publishing().packets(65_534, np.array([7, 8, PROBE], np.uint64), 123)
        read, answer = heads(packets, cut)
        assert read == [[7, 123], [8, 123], [PROBE, 123]]
        # Identifiers are never 0 and start again after the highest.
        assert answer == b"\x40\2\xff\xff" + b"\x40\2\0\1" + b"\x40\2\0\2"

    def test_acknowledgements_are_counted_across_pieces(self) -> None:
        publisher = publishing()
        assert publisher.acknowledged(b"\x40\2\0\1\x40") == 1
        assert publisher.acknowledged(b"\2\0\2\x40\2\0\3") == 3

    def test_anything_but_an_acknowledgement_ends_the_load(self) -> None:
        with pytest.raises(ConnectionError, match="PUBACK"):
            publishing().acknowledged(b"\x40\2\0\1\xe0\0\0\0")

    def test_a_broker_that_grants_less_than_qos_1_is_refused(self) -> None:
        with pytest.raises(ConnectionError, match="QoS 1"):
            subscribing(granted=0)

    def test_a_window_larger_than_the_identifiers_is_refused(self) -> None:
        with pytest.raises(ValueError, match="65535"):
            MqttPublishing(1, Load(10, window=65_536))


class TestAmqpConfirms:
    @staticmethod
    def counted(*confirms: tuple[int, int]) -> list[int]:
        confirmed = Confirms()
        return [
            confirmed.count(CONFIRM.pack(1, 1, 13, 60, 80, tag, multiple, 0xCE)) for tag, multiple in confirms
        ]

    def test_a_cumulative_confirm_counts_all_before_it_once(self) -> None:
        assert self.counted((1, 0), (3, 0), (4, 1), (5, 0)) == [1, 2, 4, 5]

    def test_confirms_out_of_order_are_counted(self) -> None:
        assert self.counted((3, 0), (2, 0), (1, 0), (2, 1)) == [1, 2, 3, 3]


class TestJudged:
    @staticmethod
    def of(*numbers: int) -> Received:
        return judged(np.array(numbers, np.uint64), np.full(len(numbers), 5_000), 4, 99, 0.5)

    def test_all_in_order_is_nothing_lost_repeated_or_late(self) -> None:
        assert self.of(0, 1, 2, 3) == Received(99, 0, 0, 0, 5.0, 5.0, 5.0, 0.5)

    def test_missing_repeated_and_late_messages_are_told_apart(self) -> None:
        assert self.of(0, 2, 3)[1:4] == (1, 0, 0)
        assert self.of(0, 1, 1, 2, 3)[1:4] == (0, 1, 0)
        assert self.of(0, 2, 1, 3)[1:4] == (0, 0, 1)
