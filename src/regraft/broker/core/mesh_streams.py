"""What a broker of a mesh keeps of each stream: the publications of one publisher on one topic."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Final

from regraft.filters import Filter

TOPIC: Final = "topic"
"""The attribute that is an event's topic."""

OVERHEAD = 512
"""Bytes that a copy takes beside its event, roughly."""

UNSURE = -1
"""Stands in `Positions` for a position that is not known yet."""


class Copy:
    """A publication that is kept here, and what others are known to have made of it.

    Neighbours are in `has`, `done` and `told` by name; what they knew in an earlier life does not count.
    """

    __slots__ = (
        "acknowledged",
        "at",
        "done",
        "event",
        "has",
        "local",
        "passed",
        "previous",
        "released",
        "seq",
        "source",
        "stream",
        "told",
    )

    def __init__(self, stream: "Stream", seq: int, previous: int, event: bytes, at: int) -> None:
        self.stream = stream
        self.seq = seq
        self.previous = previous
        self.event = event
        self.at = at
        self.has: set[str] = set()
        """Neighbours that keep it too, or have kept it."""
        self.done: set[str] = set()
        """Neighbours that have delivered it and need no copy from us."""
        self.told: set[str] = set()
        """Neighbours that know the same of us."""
        self.passed = False
        """Its turn in the stream has come: local subscribers have it or are in `local`."""
        self.local: dict[str, int] = {}
        """Local subscribers that have not confirmed, and the epoch in which it was sent, 0 if not."""
        self.source = ""
        """The local publisher, if it came from one."""
        self.acknowledged = False
        self.released = False
        """No neighbour on the topic needs it from us any more."""


class Stream:
    """The publications of one publisher on one topic, as far as this broker knows them."""

    __slots__ = ("copies", "floor", "name", "next", "numbers", "order", "position", "topic", "touched")

    def __init__(self, name: str) -> None:
        self.name = name
        self.topic = topic_of(name)
        self.position: int | None = None
        """All up to here have been passed to local subscribers, or do not concern them; None while we do not
        know where the stream stands."""
        self.copies: dict[int, Copy] = {}
        self.order: list[int] = []
        """The numbers of the copies, ascending."""
        self.next: dict[int, Copy] = {}
        """Copies whose turn has not come, by the number that has to come before."""
        self.numbers: list[int] = []
        """Known numbers from the floor on, and the one before it: a restarted first broker asks for them."""
        self.floor = 0
        self.touched = 0.0
        """When something of it last came."""

    def add(self, copy: Copy) -> None:
        self.copies[copy.seq] = copy
        self.next[copy.previous] = copy
        if not self.order or copy.seq > self.order[-1]:
            self.order.append(copy.seq)
        else:
            insort(self.order, copy.seq)

    def remove(self, copy: Copy) -> None:
        del self.copies[copy.seq]
        del self.order[bisect_left(self.order, copy.seq)]
        if self.next.get(copy.previous) is copy:
            del self.next[copy.previous]

    def expect(self, copy: Copy) -> None:
        """Take the copy for the next one, although its predecessor is not the one at our position."""
        assert self.position is not None
        self.next.pop(copy.previous, None)
        self.next[self.position] = copy

    def start_after(self, position: int) -> list[Copy]:
        """Set the position; returns the copies up to it, which are not to be passed on any more."""
        self.position = before = position
        waiting = [copy for seq in self.order if not (copy := self.copies[seq]).passed]
        self.next = {}
        for copy in waiting:
            if copy.seq > position:
                # One whose first broker had forgotten its predecessor comes after those that we have.
                self.next[max(before, copy.previous)] = copy
                before = copy.seq
        return [copy for copy in waiting if copy.seq <= position]

    def within(self, first: int, last: int) -> list[Copy]:
        low, high = bisect_left(self.order, first), bisect_left(self.order, last + 1)
        return [self.copies[seq] for seq in self.order[low:high]]

    def note(self, seq: int, floor: int = 0) -> None:
        """This number belongs to the stream; below `floor` all are acknowledged."""
        numbers = self.numbers
        if not numbers or seq > numbers[-1]:
            numbers.append(seq)
        elif numbers[at := bisect_left(numbers, seq)] != seq:
            numbers.insert(at, seq)
        if floor > self.floor:
            self.floor = floor
            del numbers[: max(0, bisect_left(numbers, floor) - 1)]

    def before(self, seq: int) -> int:
        """The number of the publication before this one; 0 if it is the first."""
        at = bisect_left(self.numbers, seq)
        return self.numbers[at - 1] if at else 0

    @property
    def promise(self) -> int:
        """A neighbour gets from us all after this number; `UNSURE` while we do not know ourselves."""
        if self.position is None:
            return UNSURE
        return min([self.position, *(copy.previous for copy in self.copies.values())])


class Streams:
    """All streams of one broker. Two lives of a publisher are remembered on each topic, not more."""

    def __init__(self) -> None:
        self.by_name: dict[str, Stream] = {}
        self.by_topic: dict[str, dict[str, Stream]] = {}
        self._lives: dict[tuple[str, str], list[Stream]] = {}
        """The streams of one client on one topic, in the order in which we saw them."""
        self.bytes = 0
        self.now = 0.0
        self.unsure: dict[str, float] = {}
        """Streams that we may have known and forgotten, since when we see them again."""

    def open(self, name: str, position: int | None) -> Stream:
        """The stream of this name; `position` is where it stands if it is new."""
        stream = self.by_name.get(name)
        if stream is None:
            stream = self.by_name[name] = Stream(name)
            stream.position = position
            for old in self._lives.get(_whose(stream), [])[:-1]:
                if not old.copies:
                    self.drop(old)
            self.by_topic.setdefault(stream.topic, {})[name] = stream
            self._lives.setdefault(_whose(stream), []).append(stream)
            stream.touched = self.now
        return stream

    def keep(self, copy: Copy) -> None:
        copy.stream.add(copy)
        self.bytes += len(copy.event) + OVERHEAD

    def release(self, copy: Copy) -> None:
        copy.released = True
        copy.stream.remove(copy)
        self.bytes -= len(copy.event) + OVERHEAD

    def forget(self, topic: str) -> None:
        """The topic is no longer ours, and nothing of it is kept."""
        for stream in self.on(topic):
            self.drop(stream)
        self.by_topic.pop(topic, None)

    def drop(self, stream: Stream) -> None:
        del self.by_name[stream.name], self.by_topic[stream.topic][stream.name]
        lives = self._lives[_whose(stream)]
        lives.remove(stream)
        if not lives:
            del self._lives[_whose(stream)]
        self.unsure.pop(stream.name, None)

    def quiet(self, since: float) -> list[Stream]:
        """Streams of which nothing is kept and nothing has come, the longest quiet first."""
        quiet = [stream for stream in self.by_name.values() if not stream.copies and stream.touched <= since]
        return sorted(quiet, key=lambda stream: stream.touched)

    def on(self, topic: str) -> list[Stream]:
        return list(self.by_topic.get(topic, {}).values())

    def copies(self, topic: str) -> Iterator[Copy]:
        """What is kept on a topic, each stream's in order."""
        for stream in self.on(topic):
            yield from [stream.copies[seq] for seq in stream.order]


def _whose(stream: Stream) -> tuple[str, str]:
    return stream.name.partition("#")[0], stream.topic


def topics_of(filter: Filter) -> frozenset[str] | None:
    """The topics that the filter names; None if an alternative of it names none.

    A mesh routes by topic (kTCO §III), so a subscription has to name its topics in every alternative. What
    else it asks is checked at delivery.
    """
    topics: set[str] = set()
    for conjunction in filter.normal:
        constraint = conjunction.constraints.get(TOPIC)
        if constraint is None or constraint.missing:
            return None
        names = constraint.strings.finite
        if names is None:
            return None
        topics |= names
    return frozenset(topics)


def topic_of(stream: str) -> str:
    """A stream is `client#life/topic`; neither the client nor the life has a slash."""
    return stream.partition("/")[2]


def stream_of(publisher: str, topic: str) -> str:
    return f"{publisher}/{topic}"
