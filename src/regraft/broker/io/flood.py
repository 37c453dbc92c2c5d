"""How much a client has published that is not confirmed: a well-behaved one keeps to its window.

The core promises the client a window and the client's core obeys it; this is for those that do not.
"""

from collections import deque
from collections.abc import Sequence

from regraft.broker.io.configuration import Configuration
from regraft.protocol.messages import AnyMessage, Confirm, Refused, Run


class Unconfirmed:
    """Counts one connection's publications and their bytes, run by run."""

    __slots__ = ("_runs", "bytes", "count")

    def __init__(self) -> None:
        self.count = 0
        self.bytes = 0
        self._runs: dict[str, deque[tuple[int, int, int]]] = {}
        """By publisher: last number, how many, bytes."""

    def published(self, messages: Sequence[AnyMessage]) -> None:
        for message in messages:
            if type(message) is Run and message.seqs:
                count, size = len(message.seqs), sum(map(len, message.events))
                self.count += count
                self.bytes += size
                runs = self._runs.get(message.publisher)
                if runs is None:
                    runs = self._runs[message.publisher] = deque()
                runs.append((message.seqs[-1], count, size))

    def answered(self, messages: Sequence[AnyMessage]) -> None:
        """A run is done when its last number is; in between, others may be open. It need not be exact."""
        for message in messages:
            kind = type(message)
            if kind is Confirm:
                self._done(message.publisher, message.ranges[-1])  # type: ignore[union-attr]
            elif kind is Refused:
                publisher, _, seq = message.about.rpartition("#")  # type: ignore[union-attr]
                if publisher and seq.isdecimal():
                    self._done(publisher, int(seq))

    def excess(self, configuration: Configuration) -> str:
        """Why this is too much, if it is. Twice the window: what is confirmed right now still counts."""
        window, most = configuration.settings.window, configuration.allowed.unconfirmed_bytes
        if self.count > 2 * window:
            return f"more than the window of {window} publications are unconfirmed"
        return f"more than {most} bytes published are unconfirmed" if self.bytes > most else ""

    def _done(self, publisher: str, last: int) -> None:
        runs = self._runs.get(publisher)
        while runs and runs[0][0] <= last:
            _, count, size = runs.popleft()
            self.count -= count
            self.bytes -= size
