"""The one thread of a process that writes the telemetry of all its brokers, in rounds.

A thread for each broker, woken by each batch, takes the interpreter from the event loop thousands of times a
second: with 200 brokers in a process, publications then take a hundred milliseconds longer.
"""

import threading
from typing import Protocol

EVERY_SECONDS = 0.1


class Serves(Protocol):
    def turn(self, last: bool) -> None:
        """Writes what waits. `last`: nothing comes after it."""


class Scribe:
    """Its thread lives while there is somebody to serve."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._served: list[Serves] = []
        self._leaving: dict[int, threading.Event] = {}
        self._thread: threading.Thread | None = None

    def serve(self, one: Serves) -> None:
        with self._changed:
            self._served.append(one)
            if self._thread is None:
                self._thread = threading.Thread(target=self._rounds, name="telemetry", daemon=True)
                self._thread.start()

    def leave(self, one: Serves) -> None:
        """After its last turn, which is at once."""
        with self._changed:
            if not any(each is one for each in self._served):
                return
            done = self._leaving.setdefault(id(one), threading.Event())
            self._changed.notify()
        done.wait()

    def _rounds(self) -> None:
        while True:
            with self._changed:
                if not self._served:
                    self._thread = None
                    return
                if not self._leaving:
                    self._changed.wait(EVERY_SECONDS)
                served, leaving = list(self._served), dict(self._leaving)
            for one in served:
                done = leaving.get(id(one))
                one.turn(last=done is not None)
                if done is not None:
                    with self._changed:
                        self._served.remove(one)
                        del self._leaving[id(one)]
                    done.set()


SCRIBE = Scribe()
"""Of this process."""
