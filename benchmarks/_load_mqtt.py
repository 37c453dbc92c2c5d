"""The fastest MQTT 3.1.1 load that we know: QoS 1 on raw sockets, encoded and counted in blocks.

`python -m benchmarks._load_mqtt publish|subscribe PORT COUNT PAYLOAD RATE WINDOW`, see `_load`.
All publications have one topic and one size, so a packet is a row of a matrix: a block is written by
filling the columns of packet identifier, number and time, and acknowledged by copying a column.
"""

import socket
import struct
import sys

import numpy as np
from benchmarks._load import Bytes, Load, Numbers, column, connect, run_publisher, run_subscriber, take

TOPIC = b"bench"
PUBLISH, PUBACK, QOS_1 = 0x30, 0x40, 0x02
HIGHEST_ID = 65535


class MqttPublishing:
    def __init__(self, port: int, load: Load) -> None:
        if load.window > HIGHEST_ID:
            raise ValueError(f"at most {HIGHEST_ID} publications can be unacknowledged")
        self.socket = _session(port, b"bench-publisher")
        body = struct.pack(">H", len(TOPIC)) + TOPIC + b"\0\0" + bytes(load.payload)
        packet = _packet(PUBLISH | QOS_1, body)
        self._rows = np.tile(np.frombuffer(packet, np.uint8), (load.window, 1))
        self._payload = len(packet) - load.payload
        self._acknowledged_bytes = 0

    def packets(self, serial: int, numbers: Numbers, now: int) -> bytes:
        rows, at = self._rows[: len(numbers)], self._payload
        ids = (serial + np.arange(len(numbers))) % HIGHEST_ID + 1
        rows[:, at - 2 : at] = column(ids.astype(">u2"))
        rows[:, at : at + 8] = column(numbers)
        rows[:, at + 8 : at + 16] = np.frombuffer(struct.pack("<q", now), np.uint8)
        return rows.tobytes()

    def acknowledged(self, data: bytes) -> int:
        # After SUBACK-less connecting, a publisher receives nothing but PUBACKs of 4 bytes.
        if data[-self._acknowledged_bytes % 4 :: 4].strip(bytes([PUBACK])):
            raise ConnectionError("the broker sent something else than PUBACK")
        self._acknowledged_bytes += len(data)
        return self._acknowledged_bytes // 4


class MqttSubscribing:
    def __init__(self, port: int, load: Load) -> None:
        self.socket = _session(port, b"bench-subscriber")
        self.socket.sendall(_packet(0x82, b"\0\1" + struct.pack(">H", len(TOPIC)) + TOPIC + b"\1"))
        if take(self.socket, 5)[4] != 1:
            raise ConnectionError("the broker does not grant QoS 1")
        body = struct.pack(">H", len(TOPIC)) + TOPIC + b"\0\0" + bytes(load.payload)
        self._length = len(_packet(PUBLISH | QOS_1, body))
        self._payload = self._length - load.payload
        self._rest = b""

    def messages(self, data: bytes) -> tuple[Bytes, bytes]:
        data = self._rest + data
        count = len(data) // self._length
        whole = count * self._length
        self._rest = data[whole:]
        rows = np.frombuffer(data, np.uint8, whole).reshape(count, self._length)
        if ((rows[:, 0] & 0xF6) != PUBLISH | QOS_1).any():
            raise ConnectionError("the broker sent something else than PUBLISH at QoS 1")
        answer = np.empty((count, 4), np.uint8)
        answer[:, 0], answer[:, 1] = PUBACK, 2
        answer[:, 2:] = rows[:, self._payload - 2 : self._payload]
        return rows[:, self._payload : self._payload + 16], answer.tobytes()


def _session(port: int, client: bytes) -> socket.socket:
    """A clean session without keep-alive."""
    sock = connect(port)
    name = struct.pack(">H", len(client)) + client
    sock.sendall(_packet(0x10, b"\0\4MQTT\4\2\0\0" + name))
    if take(sock, 4)[3]:
        raise ConnectionError("the broker refuses the connection")
    return sock


def _packet(kind: int, body: bytes) -> bytes:
    length, left = bytearray(), len(body)
    while left > 127:
        length.append(left & 127 | 128)
        left >>= 7
    return bytes([kind]) + bytes(length) + bytes([left]) + body


def main() -> None:
    role, port, *words = sys.argv[1:]
    load = Load.of(words)
    if role == "publish":
        run_publisher(MqttPublishing(int(port), load), load)
    else:
        run_subscriber(MqttSubscribing(int(port), load), load)


if __name__ == "__main__":
    main()
