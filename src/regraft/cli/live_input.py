"""Standard input read line by line in a thread, so that waiting for a line does not block the event loop."""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterable
from typing import Any, BinaryIO, TypeVar

from regraft.model import BadInput

T = TypeVar("T")
AHEAD = 1024
"""How many items may be read before they are taken."""


def lines_of(stream: Any) -> BinaryIO:
    """The lines of standard input, as bytes.

    If it is a file, this opens a second object on it: a thread may still be waiting in `read` when the
    program ends, and then Python could not close `sys.stdin`.
    """
    if stream is None:
        raise BadInput("standard input", "is closed, and events are read from there")
    try:
        number = stream.fileno()
    except OSError:
        buffer: BinaryIO = stream.buffer
        return buffer
    return open(number, "rb", closefd=False)


async def from_thread(items: Iterable[T]) -> AsyncIterator[T]:
    """The items of an iterator that may block: a daemon thread waits for them."""
    loop = asyncio.get_running_loop()
    found: deque[T] = deque()
    ended: list[BaseException | None] = []
    room = threading.Semaphore(AHEAD)
    arrived = asyncio.Event()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(arrived.set)

    def read() -> None:
        fault: BaseException | None = None
        try:
            for item in items:
                room.acquire()
                found.append(item)
                if not arrived.is_set():
                    wake()
        except BaseException as raised:  # raised again where the items are taken
            fault = raised
        ended.append(fault)
        wake()

    threading.Thread(target=read, name="standard input", daemon=True).start()
    while not ended or found:
        await arrived.wait()
        arrived.clear()
        while found:
            yield found.popleft()
            room.release()
    if ended[0] is not None:
        raise ended[0]
