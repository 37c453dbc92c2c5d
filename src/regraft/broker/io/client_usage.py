"""How much one client takes of the broker, and whether that is more than any well-behaved client would.

The core promises the client a window, and our client obeys it; this is for clients that do not.
"""

from collections import deque
from collections.abc import Sequence

from regraft.broker.io.configuration import Configuration
from regraft.broker.io.entrance import NO_ID
from regraft.protocol.messages import Advertise, AnyMessage, Confirm, Refused, Run, Settled, Subscribe
from regraft.protocol.names import is_name


class ClientUsage:
    """Counts one connection's publications and their bytes, run by run."""

    __slots__ = ("_runs", "again", "bytes", "count", "has_ids", "most_ranges", "refusals")

    def __init__(self) -> None:
        self.count = 0
        self.bytes = 0
        self.again = -1
        """How many it sent again after its hello; negative while that is not known."""
        self.refusals = 0
        """Filters and publications that were refused and are not forgiven."""
        self.most_ranges = 0
        """The most ranges in one of its confirmations."""
        self.has_ids = True
        """Whether the ids of all its filters are allowed names."""
        self._runs: dict[str, deque[tuple[int, int, int]]] = {}
        """By publisher, for each run: its last number, how many publications, how many bytes."""

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
            elif type(message) is Settled:
                self.again = self.count
            elif type(message) is Confirm:
                self.most_ranges = max(self.most_ranges, len(message.ranges) // 2)
            elif isinstance(message, Subscribe | Advertise) and not is_name(message.id):
                self.has_ids = False

    def answered(self, messages: Sequence[AnyMessage]) -> int:
        """Count answers to the client; returns how many of them are refusals.

        A run counts as done when its last number is, although others in it may be open: no need to be exact.
        """
        before = self.refusals
        for message in messages:
            kind = type(message)
            if kind is Confirm:
                self._done(message.publisher, message.ranges[-1])  # type: ignore[union-attr]
            elif kind is Refused:
                self.refusals += 1
                publisher, _, seq = message.about.rpartition("#")  # type: ignore[union-attr]
                if publisher and seq.isdecimal():
                    self._done(publisher, int(seq))
        return self.refusals - before

    def excess(self, configuration: Configuration) -> str:
        """Why this is too much, if it is. Twice the window may be: what is being confirmed still counts."""
        window, allowed = configuration.settings.window, configuration.allowed
        # What it sends again first was limited by the window of its last broker, which may be larger.
        if self.again >= 0 and self.count > 2 * window + self.again:
            return f"more than the window of {window} publications are unconfirmed"
        if self.bytes > allowed.unconfirmed_bytes:
            return f"more than {allowed.unconfirmed_bytes} bytes published are unconfirmed"
        if self.refusals > allowed.refusals:
            return f"more than {allowed.refusals} filters and publications had to be refused"
        if self.most_ranges > allowed.confirmed_ranges:
            return f"a confirmation has {self.most_ranges} ranges, {allowed.confirmed_ranges} are allowed"
        return "" if self.has_ids else NO_ID

    def forgive(self, count: int) -> None:
        """Time has passed: this many refusals are forgiven."""
        self.refusals = max(0, self.refusals - count)

    def _done(self, publisher: str, last: int) -> None:
        runs = self._runs.get(publisher)
        while runs and runs[0][0] <= last:
            _, count, size = runs.popleft()
            self.count -= count
            self.bytes -= size
