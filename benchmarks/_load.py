"""The load of one measurement: what its publisher and its subscriber process do, whatever they speak.

A load process obeys this contract, so that every broker is driven and judged in the same way:

- the subscriber connects, subscribes, prints `ready`; prints `reached` when the first probe arrives;
  after the last message (or a silence) it prints one line of JSON, a `Received`;
- the publisher connects, prints `ready`, publishes a probe every 50 ms until it reads `go`, waits until
  the probes are acknowledged, publishes the load, and prints one line of JSON, a `Sent`. It stays
  connected until its input ends: some brokers forget what a publisher that left was acknowledged.

A payload starts with its number and its time of sending (8 bytes each, little-endian; the clock is the
machine's monotonic one, shared by all processes). A probe is numbered `PROBE`. Probes find out when a
path of several brokers is open; they are never counted.

The processes work on whole blocks of equally long packets with NumPy, so that the load costs little
beside the broker that is measured.
"""

import json
import select
import socket
import sys
import time
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

PROBE = 2**64 - 1
BLOCK = 128
"""Messages sent at once where the window allows it: about 35 KB."""
SILENCE = 20.0
"""Seconds without a message after which the subscriber gives the missing ones up."""
Numbers = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Load:
    """`rate` in messages per second, 0 for as fast as `window` unacknowledged messages allow."""

    count: int
    payload: int = 256
    rate: float = 0.0
    window: int = 2048

    def words(self) -> list[str]:
        return [str(value) for value in (self.count, self.payload, self.rate, self.window)]

    @classmethod
    def of(cls, words: list[str]) -> "Load":
        count, payload, rate, window = words
        return cls(int(count), int(payload), float(rate), int(window))


class Sent(NamedTuple):
    """`cpu_s`: processor time of this process while it published."""

    first_ns: int
    acknowledged_ns: int
    cpu_s: float


class Received(NamedTuple):
    """`late` counts messages that came after one with a higher number."""

    last_ns: int
    lost: int
    repeated: int
    late: int
    p50_us: float
    p99_us: float
    worst_us: float
    cpu_s: float


class Publishing(Protocol):
    """One connection to a broker, as its publisher."""

    socket: socket.socket

    def packets(self, serial: int, numbers: Numbers, now: int) -> bytes:
        """Publications of these numbers; `serial` counts what the connection published before them."""

    def acknowledged(self, data: bytes) -> int:
        """How many publications of the connection are acknowledged, after this input."""


class Subscribing(Protocol):
    """One connection to a broker, as its subscriber."""

    socket: socket.socket

    def messages(self, data: bytes) -> tuple[Bytes, bytes]:
        """The first 16 bytes of each payload that this input completes, and the answer to send."""


def publish(connection: Publishing, load: Load) -> Sent:
    """Probe until told to go, then send the load within its window and rate until all is acknowledged."""
    flow = _Flow(connection)
    print("ready", flush=True)
    probe = np.full(1, PROBE, np.uint64)
    while not select.select([sys.stdin], [], [], 0)[0]:
        flow.queue(probe)
        until = time.monotonic() + 0.05
        while (left := until - time.monotonic()) > 0:
            flow.move(left)
    flow.finish()
    sent, cpu, first = 0, time.process_time(), time.monotonic_ns()
    while sent < load.count:
        open_window = load.window - (flow.serial - flow.acknowledged)
        due = load.count if not load.rate else 1 + int((time.monotonic_ns() - first) * load.rate / 1e9)
        block = min(BLOCK, max(1, load.window // 4), load.count - sent) if not load.rate else 1
        room = min(open_window, due - sent, load.count - sent, BLOCK)
        if room >= block and not flow.pending:
            flow.queue(np.arange(sent, sent + room, dtype=np.uint64))
            sent += room
            flow.move(0.0)
        else:
            waiting = load.rate and due <= sent and not flow.pending
            flow.move(max(0.0, (first / 1e9 + sent / load.rate) - time.monotonic()) if waiting else 1.0)
    flow.finish()
    return Sent(first, time.monotonic_ns(), time.process_time() - cpu)


class _Flow:
    """Moves bytes both ways without ever waiting for one direction only."""

    def __init__(self, connection: Publishing) -> None:
        self.connection = connection
        self.serial = 0
        self.acknowledged = 0
        self.pending = memoryview(b"")
        connection.socket.setblocking(False)

    def queue(self, numbers: Numbers) -> None:
        packets = self.connection.packets(self.serial, numbers, time.monotonic_ns())
        self.pending = memoryview(bytes(self.pending) + packets) if self.pending else memoryview(packets)
        self.serial += len(numbers)

    def move(self, seconds: float) -> None:
        sock = self.connection.socket
        readable, writable, _ = select.select([sock], [sock] if self.pending else [], [], seconds)
        if writable:
            self.pending = self.pending[sock.send(self.pending) :]
        if readable:
            self.acknowledged = self.connection.acknowledged(_received(sock))

    def finish(self) -> None:
        while self.pending or self.acknowledged < self.serial:
            self.move(1.0)


def subscribe(connection: Subscribing, load: Load) -> Received:
    """Take and acknowledge messages until the last number has come, then judge all of them."""
    sock = connection.socket
    sock.settimeout(None)
    print("ready", flush=True)
    numbers: list[Numbers] = []
    waited: list[npt.NDArray[np.int64]] = []
    last, reached, cpu = 0, False, time.process_time()
    while select.select([sock], [], [], SILENCE if last else None)[0]:
        heads, answer = connection.messages(_received(sock))
        now = time.monotonic_ns()
        sock.sendall(answer)
        if not len(heads):
            continue
        words = np.ascontiguousarray(heads).view("<u8")
        real = words[words[:, 0] != PROBE]
        if len(real) < len(words) and not reached:
            reached = True
            print("reached", flush=True)
        if len(real):
            last = now
            numbers.append(real[:, 0])
            waited.append(now - real[:, 1].astype(np.int64))
            if (real[:, 0] == load.count - 1).any():
                break
    cpu = time.process_time() - cpu
    return judged(np.concatenate(numbers), np.concatenate(waited), load.count, last, cpu)


def judged(
    numbers: Numbers, waited: npt.NDArray[np.int64], count: int, last_ns: int, cpu_s: float
) -> Received:
    """What a subscriber of `count` messages says who received these numbers after these nanoseconds."""
    distinct = len(np.unique(numbers))
    late = int((numbers < np.maximum.accumulate(numbers)).sum())
    p50, p99, worst = (float(value) / 1e3 for value in np.percentile(waited, (50, 99, 100)))
    return Received(last_ns, count - distinct, len(numbers) - distinct, late, p50, p99, worst, cpu_s)


def run_publisher(connection: Publishing, load: Load) -> None:
    """The whole publisher process; the connection lives until the input ends."""
    print(json.dumps(publish(connection, load)._asdict()), flush=True)
    sys.stdin.read()
    connection.socket.close()


def run_subscriber(connection: Subscribing, load: Load) -> None:
    print(json.dumps(subscribe(connection, load)._asdict()), flush=True)


def connect(port: int) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port), timeout=20)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def take(sock: socket.socket, size: int) -> bytes:
    """Exactly `size` bytes: for the few packets before the load starts."""
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            raise ConnectionError("the broker closed the connection")
        data += more
    return data


def column(values: npt.NDArray[Any]) -> Bytes:
    """The bytes of each value as a row, to be written into rows of packets."""
    return values.view(np.uint8).reshape(len(values), -1)


def _received(sock: socket.socket) -> bytes:
    data = sock.recv(1 << 20)
    if not data:
        raise ConnectionError("the broker closed the connection")
    return data
