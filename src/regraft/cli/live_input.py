"""Input that comes line by line, for as long as whoever writes it likes, without holding up anything else."""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterable
from typing import Any, BinaryIO, TypeVar

from regraft.model import BadInput

T = TypeVar("T")
AHEAD = 1024
"""Items that may be read before somebody takes them."""


def lines_of(stream: Any) -> BinaryIO:
    """The lines of standard input, as bytes.

    Read by an object of our own where there is a file: a thread may be waiting in it when the program
    ends, and Python could not close the one that it made itself.
    """
    if stream is None:
        raise BadInput("standard input", "is closed, and events are read from there")
    try:
        number = stream.fileno()
    except OSError:
        buffer: BinaryIO = stream.buffer
        return buffer
    return open(number, "rb", closefd=False)


async def live(items: Iterable[T]) -> AsyncIterator[T]:
    """Items of an iterator that may block: a thread waits for them, and ends with the program."""
    loop = asyncio.get_running_loop()
    found: deque[T] = deque()
    ended: list[BaseException | None] = []
    room = threading.Semaphore(AHEAD)
    arrived = asyncio.Event()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # nobody waits any more
            loop.call_soon_threadsafe(arrived.set)

    def read() -> None:
        fault: BaseException | None = None
        try:
            for item in items:
                room.acquire()
                found.append(item)
                if not arrived.is_set():
                    wake()
        except BaseException as raised:  # handed over to who waits
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
