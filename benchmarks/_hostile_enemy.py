"""An enemy's connections: the protocol on raw sockets, without any of a client's manners."""

import contextlib
import itertools
import os
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable

from regraft.protocol.messages import (
    AnyMessage,
    Bye,
    ClientHello,
    Confirm,
    InPlace,
    Named,
    Refused,
    Settled,
)
from regraft.wire.numbered import Reader, Wire

PATIENCE = 10.0
LONGEST_REASON = 90


class Enemy:
    """Who attacks: counts its strikes and what the broker says to them."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.strikes = 0
        self.said: Counter[str] = Counter()
        self.stopped = threading.Event()
        self._names = itertools.count(1)

    def peer(self, *, small: bool = False) -> "Peer":
        """A new connection; a `small` one takes little before it blocks the broker."""
        return Peer(self, small=small)

    def hello(
        self, advertisements: list[Named] | None = None, subscriptions: list[Named] | None = None
    ) -> tuple[ClientHello, Settled]:
        name = f"enemy-{os.getpid()}-{next(self._names)}"
        return ClientHello(name, advertisements or [], subscriptions or [], window=65_536), Settled()


class Peer:
    """One connection. A broken one is no fault here: writing to it does nothing, reading finds its end."""

    def __init__(self, enemy: Enemy, *, small: bool) -> None:
        self.enemy = enemy
        self.wire = Wire(2**32)
        self._reader = Reader(Wire(2**32))
        self._sock = socket.socket()
        if small:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._sock.settimeout(PATIENCE)
        self._answers = 0
        self._confirmed = 0
        self._ended = False
        self._sock.connect(("127.0.0.1", enemy.port))

    def say(self, *messages: AnyMessage) -> "Peer":
        return self.write(self.wire.frame(list(messages)))

    def write(self, data: bytes) -> "Peer":
        with contextlib.suppress(OSError):  # it was cut off, or the broker does not read
            self._sock.sendall(data)
        return self

    def stay(self, seconds: float) -> "Peer":
        """Alive, but reading nothing."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.enemy.stopped.wait(0.2):
            self.say()
        return self

    def until_the_end(self) -> None:
        """Read until the broker ends the connection, or the attack is over."""
        self._sock.settimeout(0.2)
        since = time.monotonic()
        while not self._ended and time.monotonic() < since + PATIENCE and not self.enemy.stopped.is_set():
            self._read()
        self.close()

    def answers(self, count: int) -> bool:
        """Read until so many filters are in place or refused."""
        return self._until(lambda: self._answers >= count)

    def wait_confirmed(self, number: int) -> bool:
        return self._until(lambda: self._confirmed >= number)

    def close(self) -> None:
        self._sock.close()

    def _until(self, done: Callable[[], bool]) -> bool:
        self._sock.settimeout(0.2)
        while not done():
            if self._ended or self.enemy.stopped.is_set():
                return False
            self._read()
        self._sock.settimeout(PATIENCE)
        return True

    def _read(self) -> None:
        try:
            data = self._sock.recv(1 << 18)
        except TimeoutError:
            return
        except OSError:
            data = b""
        self._ended = not data
        for message in self._reader.messages(data) if data else ():
            self._hear(message)

    def _hear(self, message: AnyMessage) -> None:
        if isinstance(message, Refused | InPlace):
            self._answers += 1
        if isinstance(message, Refused | Bye):
            self.enemy.said[plain(message.reason)] += 1
        elif isinstance(message, Confirm):
            self._confirmed = max(self._confirmed, message.ranges[-1])


def plain(reason: str) -> str:
    """The same for all strikes of a kind: without the enemy's name, one line, not too long."""
    reason = " ".join(re.sub(r"enemy-\d+-\d+", "enemy", reason).split())
    return reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 1] + "…"
