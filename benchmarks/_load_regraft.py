"""The load for our own broker: its protocol on raw sockets, encoded and counted in blocks.

`python -m benchmarks._load_regraft publish|subscribe PORT COUNT PAYLOAD RATE WINDOW`, see `_load`.
Events have an attribute `topic`; the subscription selects by it, so the broker reads every event.
"""

import socket
import struct
import sys
import time

import numpy as np
from benchmarks._load import Bytes, Load, Numbers, column, connect, run_publisher, run_subscriber

from regraft.protocol.events import Event, Value, encode
from regraft.protocol.messages import AnyMessage, Bye, ClientHello, Confirm, InPlace, Named, Run, Welcome
from regraft.wire.numbered import Reader, Wire

ATTRIBUTES: dict[str, Value] = {"topic": "bench"}
FILTER = "topic = 'bench'"


class RegraftPublishing:
    def __init__(self, port: int, load: Load) -> None:
        name = f"publisher-{time.time_ns()}"
        self.socket, self._wire, self._reader = _session(port, name, [("a1", FILTER)], [])
        self._publisher = f"{name}#1"
        event = np.frombuffer(encode(Event(ATTRIBUTES, bytes(load.payload))), np.uint8)
        self._rows = np.tile(event, (load.window, 1))
        self._payload = len(event) - load.payload
        self._acknowledged = 0

    def packets(self, serial: int, numbers: Numbers, now: int) -> bytes:
        count, at = len(numbers), self._payload
        rows = self._rows[:count]
        rows[:, at : at + 8] = column(numbers)
        rows[:, at + 8 : at + 16] = np.frombuffer(struct.pack("<q", now), np.uint8)
        block, length = rows.tobytes(), rows.shape[1]
        events = [block[start : start + length] for start in range(0, len(block), length)]
        seqs = list(range(serial + 1, serial + 1 + count))
        return self._wire.frame([Run(self._publisher, seqs, events, time.time_ns() // 1000)])

    def acknowledged(self, data: bytes) -> int:
        for message in self._reader.messages(data):
            if isinstance(message, Confirm):  # one subscriber confirms in order, so all up to the last are
                self._acknowledged = max(self._acknowledged, message.ranges[-1])
            elif not isinstance(message, InPlace):
                raise ConnectionError(f"the broker sent {message}")
        return self._acknowledged


class RegraftSubscribing:
    def __init__(self, port: int, load: Load) -> None:
        filters = [("s1", FILTER)]
        self.socket, self._wire, self._reader = _session(port, f"subscriber-{time.time_ns()}", [], filters)
        self._length = len(encode(Event(ATTRIBUTES, bytes(load.payload))))
        self._payload = self._length - load.payload
        self._last = struct.pack("<Q", load.count - 1)

    def messages(self, data: bytes) -> tuple[Bytes, bytes]:
        runs = [each for each in self._reader.messages(data) if isinstance(each, Run)]
        if not runs:
            return np.empty((0, 16), np.uint8), b""
        block = b"".join([event for run in runs for event in run.events])
        rows = np.frombuffer(block, np.uint8).reshape(-1, self._length)
        answer: list[AnyMessage] = [Confirm(run.publisher, [run.seqs[0], run.seqs[-1]]) for run in runs]
        heads = rows[:, self._payload : self._payload + 16]
        if heads[-1, :8].tobytes() == self._last:
            answer.append(Bye())  # otherwise the broker keeps the session, and what comes for it
        return heads, self._wire.frame(answer)


def _session(
    port: int, name: str, advertisements: list[Named], subscriptions: list[Named]
) -> tuple[socket.socket, Wire, Reader]:
    """Connected, and what the client has said of itself is in place."""
    sock = connect(port)
    wire, reader = Wire(), Reader(Wire())
    sock.sendall(wire.frame([ClientHello(name, advertisements, subscriptions, window=65536)]))
    welcomed, missing = False, len(advertisements) + len(subscriptions)
    while missing or not welcomed:
        data = sock.recv(1 << 16)
        if not data:
            raise ConnectionError("the broker closed the connection")
        for message in reader.messages(data):
            if isinstance(message, Welcome):
                welcomed = True
            elif isinstance(message, InPlace):
                missing -= 1
            else:
                raise ConnectionError(f"the broker sent {message}")
    return sock, wire, reader


def main() -> None:
    role, port, *words = sys.argv[1:]
    load = Load.of(words)
    if role == "publish":
        run_publisher(RegraftPublishing(int(port), load), load)
    else:
        run_subscriber(RegraftSubscribing(int(port), load), load)


if __name__ == "__main__":
    main()
