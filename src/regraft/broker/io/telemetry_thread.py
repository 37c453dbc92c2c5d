"""The one thread of a process that writes the telemetry of all its brokers, in rounds.

A thread for each broker, woken by each batch, takes the interpreter from the event loop thousands of times a
second: with 200 brokers in a process, publications then take a hundred milliseconds longer.
"""

import threading
from typing import Protocol

EVERY_SECONDS = 0.1


class Writes(Protocol):
    """The writer of a broker's segments, as this thread sees it."""

    def write_waiting(self, last: bool) -> None:
        """Write what waits. With `last`, nothing comes after it."""


class TelemetryThread:
    """The thread lives while there is something to write."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._writers: list[Writes] = []
        self._leaving: dict[int, threading.Event] = {}
        self._thread: threading.Thread | None = None

    def add(self, one: Writes) -> None:
        with self._changed:
            self._writers.append(one)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
                self._thread.start()

    def remove(self, one: Writes) -> None:
        """Returns after the last `write_waiting`, which is called at once."""
        with self._changed:
            if not any(each is one for each in self._writers):
                return
            done = self._leaving.setdefault(id(one), threading.Event())
            self._changed.notify()
        done.wait()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._writers:
                    self._thread = None
                    return
                if not self._leaving:
                    self._changed.wait(EVERY_SECONDS)
                writers, leaving = list(self._writers), dict(self._leaving)
            for one in writers:
                done = leaving.get(id(one))
                one.write_waiting(last=done is not None)
                if done is not None:
                    with self._changed:
                        self._writers.remove(one)
                        del self._leaving[id(one)]
                    done.set()


TELEMETRY_THREAD = TelemetryThread()
"""The thread of this process."""
