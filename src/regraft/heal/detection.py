"""Which peers answer and which do not: the failure detector of one manager. Sans-IO; time is an argument.

Mimosa Pudica §5 suspects a successor that has not acknowledged a message within a timer (30 ms). Here every
neighbour is asked regularly, often while messages go there, and the timer runs from the first question that
is not answered, or from the moment when the connection was lost.

    trusted --a question is not answered, or the connection is lost--> doubted --the timer ends--> suspected
       ^                                                                  |                            |
       +------------------------------- any answer -----------------------+----------------------------+

A suspicion has *evidence*, which may grow: silence alone may be slowness. Only what cannot be slowness
allows others to act on it (`Evidence.hard`): no process listens any more where the broker was, or its session
has ended. The adaptive timer follows the measured round trips and grows with each mistake, so that a
neighbour whose delay has some bound is wrongly suspected only a limited number of times.

Time in which this process itself did not run does not count: the timers of connected peers are prolonged by
it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from regraft.model import BadInput

NEVER = float("inf")


class Evidence(IntEnum):
    """What speaks for a crash, from weak to strong."""

    SILENT = 0
    """It does not answer, but its machine accepts connections: perhaps it is slow."""
    UNREACHABLE = 1
    """Nothing comes back at all: the broker, its machine, or the link to it."""
    REFUSED = 2
    """Its machine says that no process listens there: it is gone."""
    GONE = 3
    """Its session in ZooKeeper has ended, and with it its right to answer clients."""

    @property
    def hard(self) -> bool:
        return self >= Evidence.REFUSED


@dataclass(frozen=True)
class DetectionTiming:
    """Seconds. `timer` is the paper's; with `adaptive` it is the least."""

    timer: float = 0.03
    adaptive: bool = False
    longest: float = 2.0
    busy: float = 0.01
    """Between two questions to a neighbour that messages go to."""
    idle: float = 0.25
    probe: float = 0.02
    """Between two looks at the address of one that does not answer; doubled up to `idle`."""

    def __post_init__(self) -> None:
        if min(self.timer, self.busy, self.idle, self.probe) <= 0 or self.longest < self.timer:
            raise BadInput(
                "timing", "times must be positive, and the longest timer not shorter than the first"
            )


@dataclass(frozen=True, slots=True)
class Ping:
    peer: str
    number: int


@dataclass(frozen=True, slots=True)
class Probe:
    """Find out what its address says, and tell by `evidence`."""

    peer: str


@dataclass(frozen=True, slots=True)
class Suspect:
    """Reported when the timer ends, and again when the evidence is stronger. `waited`: since the first
    sign."""

    peer: str
    evidence: Evidence
    waited: float


@dataclass(frozen=True, slots=True)
class Trust:
    """It answers again."""

    peer: str


Effect = Ping | Probe | Suspect | Trust


@dataclass
class _Peer:
    next_ping: float
    number: int = 0
    asked: dict[int, float] = field(default_factory=dict)
    """Questions without an answer, and when they were asked."""
    since: float | None = None
    """The first sign of trouble."""
    heard: float = -NEVER
    """The last sign of life."""
    lost: bool = False
    busy: bool = False
    suspected: bool = False
    evidence: Evidence = Evidence.SILENT
    next_probe: float = NEVER
    pause: float = 0.0
    mean: float = 0.0
    deviation: float = 0.0
    mistakes: int = 0


class Detector:
    """The detector of one manager: `watch` and `forget` name peers, the others say what happened and return
    effects."""

    def __init__(self, timing: DetectionTiming | None = None) -> None:
        self.timing = timing or DetectionTiming()
        self._peers: dict[str, _Peer] = {}
        self._ticked: float | None = None
        self._due = NEVER

    @property
    def peers(self) -> frozenset[str]:
        return frozenset(self._peers)

    @property
    def suspected(self) -> frozenset[str]:
        return frozenset(name for name, peer in self._peers.items() if peer.suspected)

    def suspicions(self, now: float) -> list[Suspect]:
        """The suspicions that hold now, as they were reported."""
        suspected = [(name, peer) for name, peer in self._peers.items() if peer.suspected]
        return [Suspect(name, peer.evidence, now - (peer.since or now)) for name, peer in suspected]

    def watch(self, name: str, now: float) -> None:
        if name not in self._peers:
            self._peers[name] = _Peer(now)
            self._due = min(self._due, now)

    def forget(self, name: str) -> None:
        self._peers.pop(name, None)

    def busy(self, name: str, busy: bool) -> None:
        """Whether messages go there."""
        if (peer := self._peers.get(name)) is not None and peer.busy != busy:
            peer.busy = busy
            if busy and peer.asked == {} and self._ticked is not None:
                peer.next_ping = min(peer.next_ping, self._ticked + self.timing.busy)
                self._due = min(self._due, peer.next_ping)

    def timer(self, name: str) -> float:
        peer = self._peers[name]
        if not self.timing.adaptive:
            return self.timing.timer
        longest = self.timing.longest
        measured = max(self.timing.timer, peer.mean + 4 * peer.deviation)
        return float(min(longest, measured * 2.0 ** min(peer.mistakes, 32)))

    # What happens

    def heard(self, name: str, number: int, now: float) -> list[Effect]:
        """An answer to question `number` and all before it."""
        peer = self._peers.get(name)
        if peer is None:
            return []
        if (sent := peer.asked.get(number)) is not None:
            self._measure(peer, now - sent)
        peer.asked = {asked: at for asked, at in peer.asked.items() if asked > number}
        if peer.lost:
            return []  # it came on a connection that has ended
        peer.heard = now
        peer.since = min(peer.asked.values(), default=None)
        return self._trusted(name, peer)

    def sign(self, name: str, now: float) -> None:
        """It has sent something by itself, so it need not be asked now. An unanswered question stays open."""
        peer = self._peers.get(name)
        if peer is None or peer.lost:
            return
        peer.heard = now
        if not peer.asked:
            peer.next_ping = now + (self.timing.busy if peer.busy else self.timing.idle)

    def lost(self, name: str, now: float) -> list[Effect]:
        """The connection has ended."""
        peer = self._peers.get(name)
        if peer is None or peer.lost:
            return []
        peer.lost = True
        peer.asked = {}
        first = now if peer.since is None else peer.since
        if peer.busy:  # messages went there all the time: all since its last sign of life are unanswered
            first = min(first, max(peer.heard, now - self.timer(name)))
        peer.since = first
        return self._look(name, peer, now)

    def back(self, name: str, now: float) -> list[Effect]:
        """There is a connection again, and the peer has said who it is."""
        peer = self._peers.get(name)
        if peer is None:
            return []
        peer.lost = False
        peer.asked = {}
        peer.since = None
        peer.heard = now
        peer.next_ping = now
        self._due = min(self._due, now)
        return self._trusted(name, peer)

    def evidence(self, name: str, evidence: Evidence, now: float) -> list[Effect]:
        """What a probe, or the end of a session, has shown. Ignored for a peer that answers."""
        peer = self._peers.get(name)
        if peer is None or peer.since is None:
            return []
        stronger = evidence > peer.evidence
        peer.evidence = max(peer.evidence, evidence)
        if peer.suspected:
            return [Suspect(name, peer.evidence, now - peer.since)] if stronger else []
        return self._suspected(name, peer, now)

    def tick(self, now: float) -> list[Effect]:
        """Time has passed; to be called no later than `next_due`."""
        slept = max(0.0, now - self._due) if self._due < NEVER else 0.0
        effects: list[Effect] = []
        for name, peer in self._peers.items():
            if slept > self.timing.timer / 2 and peer.since is not None and not peer.lost:
                peer.since += slept
                peer.asked = {number: at + slept for number, at in peer.asked.items()}
            effects += self._suspected(name, peer, now)
            if now >= peer.next_probe:
                effects += self._look(name, peer, now)
            if now >= peer.next_ping and not peer.lost:
                effects.append(self._ask(name, peer, now))
        self._ticked = now
        self._due = min((self._due_of(name, peer) for name, peer in self._peers.items()), default=NEVER)
        return effects

    def next_due(self) -> float | None:
        return self._due if self._due < NEVER else None

    # Steps

    def _ask(self, name: str, peer: _Peer, now: float) -> Ping:
        peer.number += 1
        peer.asked[peer.number] = now
        if peer.since is None:
            peer.since = now
        if len(peer.asked) > 64:
            del peer.asked[min(peer.asked)]
        peer.next_ping = now + (self.timing.busy if peer.busy else self.timing.idle)
        return Ping(name, peer.number)

    def _look(self, name: str, peer: _Peer, now: float) -> list[Effect]:
        peer.pause = min(self.timing.idle, 2 * peer.pause) if peer.pause else self.timing.probe
        peer.next_probe = now + peer.pause
        self._due = min(self._due, peer.next_probe, self._due_of(name, peer))
        return [Probe(name)]

    def _suspected(self, name: str, peer: _Peer, now: float) -> list[Effect]:
        if peer.suspected or peer.since is None or now < peer.since + self.timer(name):
            return []
        peer.suspected = True
        suspicion = Suspect(name, peer.evidence, now - peer.since)
        return [suspicion, *(self._look(name, peer, now) if peer.next_probe == NEVER else [])]

    def _trusted(self, name: str, peer: _Peer) -> list[Effect]:
        was, peer.suspected = peer.suspected, False
        peer.evidence = Evidence.SILENT
        peer.next_probe, peer.pause = NEVER, 0.0
        if was:
            peer.mistakes += 1
        return [Trust(name)] if was else []

    def _measure(self, peer: _Peer, trip: float) -> None:
        """Mean and deviation of round trips, as TCP keeps them."""
        if not peer.mean:
            peer.mean, peer.deviation = trip, trip / 2
            return
        peer.deviation += (abs(trip - peer.mean) - peer.deviation) / 4
        peer.mean += (trip - peer.mean) / 8

    def _due_of(self, name: str, peer: _Peer) -> float:
        due = peer.next_probe
        if not peer.lost:
            due = min(due, peer.next_ping)
        if peer.since is not None and not peer.suspected:
            due = min(due, peer.since + self.timer(name))
        return due


def verdict(evidence: Evidence, reached: Mapping[str, bool]) -> str:
    """`broker`, `link` or `unsure`: what the group makes of one member's suspicion.

    `reached`: the others that were asked, and whether they have a connection that works. One that has it
    knows that the broker lives; then only the link of the suspecting member has failed. If none has it, the
    broker may still be slow: only hard evidence counts.
    """
    if any(reached.values()):
        return "link"
    return "broker" if evidence.hard else "unsure"
