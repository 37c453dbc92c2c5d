"""Publications that are kept until all peers that they were sent to have confirmed them.

While a publication is not confirmed at its first broker, every broker between there and each subscriber that
has not got it holds it: any of them may vanish. Publications that came together and go to the same targets
are one run, so that the bookkeeping is per run and not per publication.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator

from regraft.protocol.messages import Run

REMEMBERED = 10_000
"""At least this many publishers are remembered with their highest number."""


class Held:
    """A run, where it came from, and for which targets it is kept.

    It has several sources if its publisher moved and sent it again by another way: all are told when it
    is done; the last is where it comes from now.

    `waiting` maps each target to the epoch of the connection on which it was sent, 0 if it was not sent.
    """

    __slots__ = ("overtaken", "run", "size", "sources", "trusted", "waiting")

    def __init__(
        self,
        run: Run,
        sources: list[str],
        waiting: dict[str, int],
        trusted: tuple[str, ...] = (),
        overtaken: tuple[int, str] = (0, ""),
    ) -> None:
        self.run = run
        self.sources = sources
        self.waiting = waiting
        self.trusted = trusted
        """Clients that get it even if they distrust its visit: it was handed over for them."""
        self.overtaken = overtaken
        """A later visit of the publisher, and the neighbour behind which it is: that neighbour gets the run
        from there, not from us."""
        self.size = sum(map(len, run.events))

    def rename(self, old: str, new: str) -> None:
        """What was behind one neighbour is behind another now."""
        now = [new if source == old else source for source in self.sources]
        self.sources = list(dict.fromkeys(reversed(now)))[::-1]  # the last is where it comes from
        if self.overtaken[1] == old:
            self.overtaken = (self.overtaken[0], new)

    def confirms(self, source: str) -> int:
        """The visit with which the run is confirmed to this source: a later one, if one has overtaken it. The
        neighbour behind which that later visit is has to wait until the run has come from it, too."""
        visit, by = self.overtaken
        return visit if visit > self.run.visit and by != source else self.run.visit

    def part(self, some: slice) -> "Held":
        sources, waiting = list(self.sources), dict(self.waiting)
        return Held(self.run.part(some), sources, waiting, self.trusted, self.overtaken)


class HeldStream:
    """What is held of one publisher, in order."""

    __slots__ = ("firsts", "latest", "runs", "seen", "visits")

    def __init__(self) -> None:
        self.firsts: list[int] = []
        self.runs: dict[int, Held] = {}
        self.seen = 0
        """The highest number that has arrived."""
        self.visits: dict[str, int] = {}
        """The latest visit of the publisher that is known to be behind each neighbour, or of each client."""
        self.latest = 0
        """The latest of these visits."""

    def later(self, target: str, visit: int, source: str) -> bool:
        """Whether the target gets what came on this visit from elsewhere, on a later one."""
        return self.visits.get(target, 0) > max(visit, self.visits.get(source, 0))

    def insert(self, held: Held) -> None:
        """Add a run of one publication that may fall into another run, which is then cut."""
        self._cut(held.run.seqs[0])
        self.add(held)

    def add(self, held: Held) -> None:
        first = held.run.seqs[0]
        if not self.firsts or first > self.firsts[-1]:
            self.firsts.append(first)
        else:
            insort(self.firsts, first)
        self.runs[first] = held

    def remove(self, held: Held) -> None:
        first = held.run.seqs[0]
        del self.runs[first]
        del self.firsts[bisect_left(self.firsts, first)]

    def find(self, seq: int) -> Held | None:
        """The run that has this publication."""
        at = bisect_left(self.firsts, seq + 1) - 1
        if at < 0:
            return None
        held = self.runs[self.firsts[at]]
        seqs = held.run.seqs
        there = bisect_left(seqs, seq)
        return held if there < len(seqs) and seqs[there] == seq else None

    def within(self, first: int, last: int) -> list[Held]:
        """The runs from `first` to `last`; runs that reach beyond are cut."""
        if (exact := self.runs.get(first)) is not None and exact.run.seqs[-1] == last:
            return [exact]
        self._cut(first)
        self._cut(last + 1)
        low, high = bisect_left(self.firsts, first), bisect_left(self.firsts, last + 1)
        return [self.runs[each] for each in self.firsts[low:high]]

    def _cut(self, seq: int) -> None:
        """Cut the run that has numbers both below this one and from it on, if there is one."""
        at = bisect_left(self.firsts, seq) - 1
        if at < 0:
            return
        held = self.runs[self.firsts[at]]
        run = held.run
        middle = bisect_left(run.seqs, seq)
        if middle == len(run.seqs):
            return
        self.remove(held)
        for part in (slice(None, middle), slice(middle, None)):
            self.add(held.part(part))

    def __iter__(self) -> Iterator[Held]:
        return iter([self.runs[first] for first in self.firsts])


class HeldRuns:
    """Everything held, by publisher."""

    def __init__(self) -> None:
        self.streams: dict[str, HeldStream] = {}
        """The streams of all publishers that were heard of lately."""
        self.busy: dict[str, HeldStream] = {}
        """The streams of which something is held."""
        self.bytes = 0

    def stream(self, publisher: str) -> HeldStream:
        if (stream := self.streams.get(publisher)) is None:
            if len(self.streams) >= 2 * REMEMBERED:
                self._forget_some()
            stream = self.streams[publisher] = HeldStream()
        return stream

    def _forget_some(self) -> None:
        """What a forgotten publisher sends again is forwarded once more, which does no harm."""
        lately = list(self.streams.items())[-REMEMBERED:]
        self.streams = self.busy | dict(lately)

    def keep(self, held: Held) -> None:
        self.bytes += held.size
        stream = self.stream(held.run.publisher)
        stream.insert(held)
        stream.seen = max(stream.seen, held.run.seqs[-1])
        self.busy[held.run.publisher] = stream

    def release(self, held: Held) -> None:
        self.bytes -= held.size
        stream = self.busy[held.run.publisher]
        stream.remove(held)
        if not stream.runs:
            del self.busy[held.run.publisher]

    def pieces(self, held: Held) -> list[Held]:
        """The run cut into its publications, each held for itself."""
        stream = self.busy[held.run.publisher]
        return [stream.within(seq, seq)[0] for seq in held.run.seqs]

    def waiting_for(self, target: str) -> list[Held]:
        """What is kept for this target, each publisher's in order."""
        return [held for stream in self.busy.values() for held in stream if target in held.waiting]

    def __iter__(self) -> Iterator[Held]:
        return (held for stream in list(self.busy.values()) for held in stream)
