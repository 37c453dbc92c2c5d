"""The messages between a host and a worker, and the worker's end of their socket."""

import os
import select
import socket
from collections import deque

import msgspec

from regraft.components.manifest import Manifest
from regraft.components.messages import Answered, CallId, Task
from regraft.components.work import Point
from regraft.wire.frames import Format, Frames


class _Piped(msgspec.Struct, frozen=True, kw_only=True, tag_field="is"):
    pass


class Begin(_Piped, frozen=True, kw_only=True, tag="begin"):
    """To the worker: become this component, and pause."""

    bundle: str
    """The path of the file, which the host has checked."""
    manifest: Manifest
    name: str
    place: str
    origin: str
    cells: dict[str, bytes]
    tasks: list[tuple[CallId, Task]]
    log: str
    """The path of the file that gets its standard output and error."""


class Proceed(_Piped, frozen=True, kw_only=True, tag="proceed"):
    pass


class Do(_Piped, frozen=True, kw_only=True, tag="do"):
    id: CallId
    method: str
    arguments: bytes


class Halt(_Piped, frozen=True, kw_only=True, tag="halt"):
    """Report a point, and pause there."""


class Returned(_Piped, frozen=True, kw_only=True, tag="returned"):
    """The answer to the one call that the component waits for."""

    answer: Answered


class Begun(_Piped, frozen=True, kw_only=True, tag="begun"):
    pass


class Executing(_Piped, frozen=True, kw_only=True, tag="at"):
    id: CallId


class Reached(_Piped, frozen=True, kw_only=True, tag="reached"):
    point: Point


class CallOut(_Piped, frozen=True, kw_only=True, tag="call out"):
    """The component calls another one by name."""

    id: CallId
    answered: int
    name: str
    method: str
    arguments: bytes


class Broken(_Piped, frozen=True, kw_only=True, tag="broken"):
    """Why the worker ends: its last message."""

    reason: str


Down = Begin | Proceed | Do | Halt | Returned
Up = Begun | Executing | Reached | CallOut | Broken
LARGEST = 64 << 20
WORKER: Format[Down, Up] = Format(Down, 2**32 - 1)
"""The worker's end. It trusts its host, which may have to send all cells and all unfinished tasks at once."""
HOST: Format[Up, Down] = Format(Up, LARGEST)
"""The host's end."""


class Channel:
    """The worker's end of the socket. Messages that come while it waits for another one are kept."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=fd)
        self._socket.setblocking(True)
        self._frames = Frames(WORKER)
        self._arrived: deque[Down] = deque()
        self._kept: deque[Down] = deque()

    def send(self, message: Up) -> None:
        self._socket.sendall(WORKER.frame(message))

    def pending(self) -> bool:
        return bool(self._kept or self._arrived) or bool(select.select([self._socket], [], [], 0)[0])

    def receive(self) -> Down:
        return self._kept.popleft() if self._kept else self._next()

    def returned(self) -> Answered:
        while not isinstance(message := self._next(), Returned):
            self._kept.append(message)
        return message.answer

    def _next(self) -> Down:
        while not self._arrived:
            data = self._socket.recv(1 << 20)
            if not data:
                os._exit(0)  # the host has ended
            self._frames.add(data)
            self._arrived += self._frames.messages()
        return self._arrived.popleft()
