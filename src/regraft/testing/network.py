"""A virtual network with its clock: connections that carry real frames, and the faults that happen to them.

A connection has two ends, each with its own `Wire`. Frames take time; the seed decides which of them are
late, lost, doubled or overtaken by the next. A connection may be cut: frames on the way are lost, and each
side notices when it is told or when it has heard nothing for too long (until then the connection is
half-open). Empty frames are sent on idle connections, so that the loss of the last frame is noticed as well.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random
from typing import Protocol

from regraft.protocol.messages import AnyMessage
from regraft.wire.frames import HEADER, BadFrame
from regraft.wire.numbered import Wire

BEAT = 0.5
"""After how many seconds without sending an end sends an empty frame."""
SILENCE = 1.6
"""After how many seconds without hearing anything an end gives the connection up."""


class Clock:
    """Virtual time: actions happen in order of time; those of the same time in the order of the requests."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._asked = 0

    def after(self, delay: float, action: Callable[[], None]) -> None:
        self._asked += 1
        heappush(self._due, (self.now + delay, self._asked, action))

    def run(self, until: float) -> None:
        due = self._due
        while due and due[0][0] <= until:
            self.now, _, action = heappop(due)
            action()
        self.now = until


class Trace:
    """What happened, as a hash (the texts of notes are part of it) and, if kept, as lines to read."""

    def __init__(self, clock: Clock, keep: bool = False) -> None:
        self.clock = clock
        self.keep = keep
        self.lines: list[str] = []
        self.faults: Counter[str] = Counter()
        self._hash = hashlib.blake2b(digest_size=16)

    def frame(self, end: "End", body: bytes, messages: Sequence[AnyMessage]) -> None:
        self._hash.update(b"%.6f %d %s" % (self.clock.now, end.number, end.node.name.encode()))
        self._hash.update(body)
        if self.keep and messages:
            self.lines += [
                f"{self.clock.now:9.4f} {end.peer.node.name} -> {end.node.name} [{end.number}] {message}"
                for message in messages
            ]

    def note(self, who: str, what: str) -> None:
        self._hash.update(f"{self.clock.now:.6f} {who} {what}".encode())
        if self.keep:
            self.lines.append(f"{self.clock.now:9.4f} {who}: {what}")

    def fault(self, kind: str, who: str) -> None:
        self.faults[kind] += 1
        self.note(who, f"fault: {kind}")

    @property
    def hash(self) -> str:
        return self._hash.hexdigest()


class Node(Protocol):
    """A broker or a client: it has ends of connections."""

    name: str

    def heard(self, end: "End", messages: list[AnyMessage]) -> None: ...

    def ended(self, end: "End") -> None: ...


@dataclass(frozen=True)
class Weather:
    """How long frames take, and how likely each fault is for one frame."""

    fastest: float = 0.001
    slowest: float = 0.03
    late: float = 0.0
    drop: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    split: float = 0.3
    """How likely messages that could be one frame are sent as several."""


CALM = Weather(slowest=0.01)


class End:
    """One side of a connection. It is `open` until this side knows that the connection is over."""

    def __init__(self, number: int, node: Node, now: float) -> None:
        self.number = number
        self.node = node
        self.wire = Wire()
        self.open = True
        self.cut = False
        """Whether nothing arrives at this end any more."""
        self.arrival = now
        """When the last frame that is on its way to this end arrives."""
        self.sent_at = now
        self.heard_at = now
        self.peer = self


class Network:
    """All connections, and the faults that the weather causes."""

    def __init__(self, clock: Clock, trace: Trace, rng: Random, weather: Weather) -> None:
        self.clock = clock
        self.trace = trace
        self.rng = rng
        self.weather = weather
        self.ends: dict[int, tuple[End, End]] = {}
        self._next = 0

    def delay(self) -> float:
        return self.rng.uniform(self.weather.fastest, self.weather.slowest)

    def connect(self, caller: Node, called: Node) -> tuple[End, End]:
        self._next += 1
        near, far = (End(self._next, node, self.clock.now) for node in (caller, called))
        near.peer, far.peer = far, near
        self.ends[self._next] = near, far
        self.clock.after(BEAT, lambda: self._beat(near, far))
        return near, far

    # Frames

    def send(self, end: End, messages: list[AnyMessage]) -> None:
        """Put the messages on the wire, as one frame or several."""
        while len(messages) > 1 and self.rng.random() < self.weather.split:
            middle = self.rng.randrange(1, len(messages))
            self._send(end, messages[:middle])
            messages = messages[middle:]
        self._send(end, messages)

    def _send(self, end: End, messages: list[AnyMessage]) -> None:
        if not end.open:
            return
        end.sent_at = self.clock.now
        data = end.wire.frame(messages)
        to, weather, draw = end.peer, self.weather, self.rng.random()
        delay = self.delay()
        if draw < weather.drop:
            return self.trace.fault("drop", to.node.name)
        draw -= weather.drop
        if draw < weather.reorder:
            self.trace.fault("reorder", to.node.name)
            return self._carry(to, data, delay + 2 * weather.slowest)
        draw -= weather.reorder
        if draw < weather.late:
            self.trace.fault("delay", to.node.name)
            delay += self.rng.uniform(0.1, 1.0)
        to.arrival = max(to.arrival, self.clock.now + delay)
        self._carry(to, data, to.arrival - self.clock.now)
        draw -= weather.late
        if 0 <= draw < weather.duplicate:
            self.trace.fault("duplicate", to.node.name)
            self._carry(to, data, to.arrival - self.clock.now + self.delay())
        return None

    def _carry(self, to: End, data: bytes, delay: float) -> None:
        self.clock.after(delay, lambda: self._arrive(to, data))

    def _arrive(self, end: End, data: bytes) -> None:
        if not end.open or end.cut:
            return
        end.heard_at = self.clock.now
        try:
            body = data[HEADER:]
            assert end.wire.length(data[:HEADER]) == len(body)
            messages = end.wire.messages(body)
        except BadFrame as fault:
            self.trace.note(end.node.name, f"[{end.number}] {fault}")
            self.notice(end)
            self._tell_end(end.peer)
            return
        self.trace.frame(end, body, messages)
        if messages:
            end.node.heard(end, messages)

    # Ends of connections

    def close(self, end: End) -> None:
        """Close the connection on purpose: the peer is told after everything that was sent."""
        if end.open:
            end.open = False
            self._tell_end(end.peer)

    def _tell_end(self, end: End) -> None:
        end.arrival = max(end.arrival, self.clock.now + self.delay())
        self.clock.after(end.arrival - self.clock.now, lambda: None if end.cut else self.notice(end))

    def notice(self, end: End) -> None:
        """This side sees that the connection is over."""
        if end.open:
            end.open = False
            self.trace.note(end.node.name, f"[{end.number}] over")
            end.node.ended(end)

    def reset(self, number: int) -> None:
        """Cut the connection: each side notices soon or, if it is half-open, after a long silence."""
        for end in self.ends[number]:
            end.cut = True
            self._notice_later(end)

    def vanish(self, node: Node) -> None:
        """The node disappears without telling its peers."""
        for number in [each for each, pair in self.ends.items() if node in (pair[0].node, pair[1].node)]:
            for end in self.ends[number]:
                end.cut = True
                if end.node is node:
                    end.open = False
                else:
                    self._notice_later(end)

    def _notice_later(self, end: End) -> None:
        if self.rng.random() < 0.7:
            self.clock.after(self.rng.choice((0.0, self.delay())), lambda: self.notice(end))
        else:
            self.trace.fault("half-open", end.node.name)

    def _beat(self, *ends: End) -> None:
        now = self.clock.now
        for end in ends:
            if end.open and now - end.heard_at > SILENCE:
                self.notice(end)
                self._tell_end(end.peer)
            elif end.open and now - end.sent_at >= BEAT:
                self._send(end, [])
        if ends[0].open or ends[1].open:
            self.clock.after(BEAT, lambda: self._beat(*ends))
        else:
            del self.ends[ends[0].number]
