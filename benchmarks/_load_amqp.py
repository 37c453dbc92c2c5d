"""AMQP 0-9-1 load on raw sockets: publisher confirms and consumer acknowledgements, in blocks.

`python -m benchmarks._load_amqp publish|subscribe PORT COUNT PAYLOAD RATE WINDOW`, see `_load`.
As in MQTT all messages are equally long; how long a delivery is, the first one tells, since federation
adds headers to it. The subscriber acknowledges cumulatively, as a good AMQP client does.
"""

import socket
import struct
import sys

import numpy as np
from benchmarks._load import Bytes, Load, Numbers, column, connect, run_publisher, run_subscriber, take

EXCHANGE, QUEUE = b"bench", b"bench"
METHOD, HEADER, BODY, END = 1, 2, 3, b"\xce"
BASIC = 60
CONFIRM = struct.Struct(">BHIHHQBB")
"""basic.ack and basic.nack have the same shape: frame, class, method, tag, multiple, end."""


class AmqpPublishing:
    def __init__(self, port: int, load: Load) -> None:
        self.socket = _channel(port)
        _call(self.socket, 85, 10, b"\0")  # confirm.select
        publication = struct.pack(">HHH", BASIC, 40, 0) + _short(EXCHANGE) + _short(b"") + b"\0"
        # No properties: not persistent.
        header = struct.pack(">HHQH", BASIC, 0, load.payload, 0)
        start = _frame(METHOD, publication) + _frame(HEADER, header)
        message = start + _frame(BODY, bytes(load.payload))
        self._rows = np.tile(np.frombuffer(message, np.uint8), (load.window, 1))
        self._payload = len(start) + 7
        self._confirms = Confirms()

    def packets(self, serial: int, numbers: Numbers, now: int) -> bytes:
        rows, at = self._rows[: len(numbers)], self._payload
        rows[:, at : at + 8] = column(numbers)
        rows[:, at + 8 : at + 16] = np.frombuffer(struct.pack("<q", now), np.uint8)
        return rows.tobytes()

    def acknowledged(self, data: bytes) -> int:
        return self._confirms.count(data)


class Confirms:
    """Publications are confirmed one by one, in any order, or all up to one."""

    def __init__(self) -> None:
        self._rest = b""
        self._below = 0
        self._ahead: set[int] = set()

    def count(self, data: bytes) -> int:
        """How many are confirmed, after this input."""
        data = self._rest + data
        whole = len(data) // CONFIRM.size * CONFIRM.size
        self._rest = data[whole:]
        for _, _, _, owner, method, tag, multiple, _ in CONFIRM.iter_unpack(data[:whole]):
            if (owner, method) != (BASIC, 80):
                raise ConnectionError("the broker sent something else than basic.ack")
            if not multiple:
                self._ahead.add(tag)
            elif tag > self._below:
                self._below = tag
                self._ahead = {later for later in self._ahead if later > tag}
        while self._below + 1 in self._ahead:
            self._below += 1
            self._ahead.remove(self._below)
        return self._below + len(self._ahead)


class AmqpSubscribing:
    def __init__(self, port: int, load: Load) -> None:
        self.socket = _channel(port)
        _call(self.socket, BASIC, 10, struct.pack(">IHB", 0, min(load.window, 65535), 0))  # basic.qos
        consume = struct.pack(">H", 0) + _short(QUEUE) + _short(b"s") + b"\0" + struct.pack(">I", 0)
        _call(self.socket, BASIC, 20, consume)
        self._size = load.payload
        self._length = 0
        self._rest = b""

    def messages(self, data: bytes) -> tuple[Bytes, bytes]:
        data = self._rest + data
        self._length = self._length or self._first_length(data)
        if not self._length:
            self._rest = data
            return np.empty((0, 16), np.uint8), b""
        count = len(data) // self._length
        whole = count * self._length
        self._rest = data[whole:]
        if not count:
            return np.empty((0, 16), np.uint8), b""
        rows = np.frombuffer(data, np.uint8, whole).reshape(count, self._length)
        payload = self._length - 1 - self._size
        if (rows[:, 0] != METHOD).any() or (rows[:, payload - 7] != BODY).any():
            raise ConnectionError("the broker sent something else than deliveries of one length")
        # After the frame's and the method's start and the consumer's name: the delivery tag.
        tag = rows[-1, 13:21].tobytes()
        answer = _frame(METHOD, struct.pack(">HH", BASIC, 80) + tag + b"\1")
        return rows[:, payload : payload + 16], answer

    def _first_length(self, data: bytes) -> int:
        """The length of method, header and body together, or 0 while not all is there."""
        at = 0
        for _ in range(3):
            if len(data) < at + 7:
                return 0
            at += struct.unpack_from(">I", data, at + 3)[0] + 8
        return at if len(data) >= at else 0


def _channel(port: int) -> socket.socket:
    """A connection without heartbeat, and its channel 1."""
    sock = connect(port)
    sock.sendall(b"AMQP\0\0\x09\x01")
    _answer(sock)  # connection.start
    login = b"\0guest\0guest"
    start_ok = struct.pack(">I", 0) + _short(b"PLAIN") + struct.pack(">I", len(login)) + login
    sock.sendall(_method(10, 11, start_ok + _short(b"en_US"), 0))
    _answer(sock)  # connection.tune
    sock.sendall(_method(10, 31, struct.pack(">HIH", 1, 131072, 0), 0))
    _call(sock, 10, 40, _short(b"/") + b"\0\0", 0)
    _call(sock, 20, 10, b"\0")
    return sock


def _call(sock: socket.socket, owner: int, method: int, arguments: bytes, channel: int = 1) -> None:
    """A method whose answer is the next method in its class."""
    sock.sendall(_method(owner, method, arguments, channel))
    if (got := _answer(sock)) != (owner, method + 1):
        raise ConnectionError(f"the broker answers {got} to {(owner, method)}")


def _answer(sock: socket.socket) -> tuple[int, int]:
    size = struct.unpack(">BHI", take(sock, 7))[2]
    owner, method = struct.unpack_from(">HH", take(sock, size + 1))
    return owner, method


def _method(owner: int, method: int, arguments: bytes, channel: int) -> bytes:
    return _frame(METHOD, struct.pack(">HH", owner, method) + arguments, channel)


def _frame(kind: int, body: bytes, channel: int = 1) -> bytes:
    return struct.pack(">BHI", kind, channel, len(body)) + body + END


def _short(text: bytes) -> bytes:
    return bytes([len(text)]) + text


def main() -> None:
    role, port, *words = sys.argv[1:]
    load = Load.of(words)
    if role == "publish":
        run_publisher(AmqpPublishing(int(port), load), load)
    else:
        run_subscriber(AmqpSubscribing(int(port), load), load)


if __name__ == "__main__":
    main()
