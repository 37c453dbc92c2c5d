"""A client that comes from another broker: the new broker first fetches what is still held for it elsewhere.

1. The new broker subscribes for the client. From then on everything new reaches it (and still the old
   one), and waits there.
2. When all is in place it asks through the tree which broker has the session (`Claim`). What was published
   before may still be on its way to the old broker, or wait behind a broken link: every broker tells
   each neighbour `Flushed` once all others have told it, after everything that it holds for that
   neighbour. A broker that has the session and has heard `Flushed` from everywhere answers with what it
   holds for it (`Handover`), and still keeps that and whatever else comes for the client. Every broker
   answers for itself and for those behind it.
3. The new broker delivers what was handed over and what has waited, each publisher's in order, one copy
   each.
4. When the client has confirmed all of it, the old broker ends the session (`Claimed`). Until then it
   keeps everything: if the new broker dies, the next one claims again.

The states of a session while this happens are in `peers.SessionState`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from regraft.broker.core.effects import Close, Effect, Send
from regraft.broker.core.forwarding import Forwarding
from regraft.broker.core.held import Held
from regraft.broker.core.peers import Session, SessionState
from regraft.broker.core.sessions import Sessions
from regraft.protocol.messages import AnyMessage, Claim, Claimed, Flushed, Handover, Run

AGAIN = 1.0
"""Seconds after which a claim is repeated."""
FORGOTTEN = 5
"""A claim that should have been repeated this many times, and was not, is forgotten by its broker."""
HANDED = "!"
"""Prefix of the source of a run that was handed over: there is no upstream to confirm it to."""


@dataclass
class OpenClaim:
    """A claim that is being answered here: for the neighbour `back`, or (if that is empty) for ourselves."""

    claim: Claim
    back: str
    others: frozenset[str]
    """Neighbours that were asked."""
    missing: set[str]
    """Neighbours that have not answered."""
    flushed: set[str] = field(default_factory=set)
    """Neighbours that have sent everything older than the claim."""
    told: set[str] = field(default_factory=set)
    """Neighbours that were told `Flushed` on the current connection."""
    mine: bool = False
    """Whether our own part is in the answer."""
    newest: int = 0
    runs: list[Run] = field(default_factory=list)
    broken: dict[str, int] = field(default_factory=dict)
    answer: Handover | None = None
    at: float = 0.0
    """When the claim was last made or repeated."""

    @property
    def unheard(self) -> set[str]:
        """Neighbours that owe us an answer, or (having forgotten the claim in a crash) a `Flushed`."""
        return self.missing | (self.others - self.flushed)


class Claims:
    """The claims that one broker makes and answers."""

    def __init__(self, broker: str, sessions: Sessions, forwarding: Forwarding) -> None:
        self.broker = broker
        self.sessions = sessions
        self.forwarding = forwarding
        self.asked: dict[tuple[str, int], OpenClaim] = {}
        self.outstanding: dict[str, set[tuple[str, int]]] = {}
        """By the source of handed-over runs: those that the client has not confirmed."""
        self.waiting: set[str] = set()
        """Sessions that claim, until they have been served."""
        self.number = 0
        self.settled: dict[Claimed, float] = {}
        """Claims that are over, and since when: neighbours that reconnect are told again."""
        self.now = 0.0
        self.out: list[Effect] = []
        self.life = 0

    def restore(self, now: float) -> None:
        """After a start: claim again what was not fetched; for the others, say again that it is over."""
        self.now = now
        for session in self.sessions.all.values():
            if session.fetching:
                self.begin(session)
            else:
                claim = self._claim(session)
                self.settled[Claimed(claim.client, claim.by, claim.number, claim.visit)] = now

    # Asking

    def begin(self, session: Session) -> None:
        """The session claims what others hold; the `Claim` itself waits until its filters are in place."""
        self._forget(session.client, ours=True)
        session.become(SessionState.CLAIMING)
        self.waiting.add(session.target)

    def ask(self, in_place: Callable[[Session], bool]) -> None:
        """Ask for every claiming session whose filters are in place and that has not asked."""
        if not self.waiting:
            return
        asking = {each.claim.client for each in self.asked.values() if not each.back}
        for target in sorted(self.waiting):
            session = self.sessions.all.get(target)
            if session is None or not session.claiming:
                self.waiting.discard(target)
            elif session.client not in asking and in_place(session):
                self._start(self._claim(session), "")

    def _claim(self, session: Session) -> Claim:
        self.number += 1
        # Other brokers may remember claims of an earlier life of ours: its numbers were lower.
        return Claim(session.client, self.broker, self.life * 2**20 + self.number, session.visit)

    def _start(self, claim: Claim, back: str) -> None:
        others = [name for name in self.forwarding.links if name != back]
        self.asked[claim.by, claim.number] = OpenClaim(
            claim, back, frozenset(others), set(others), at=self.now
        )
        for name in others:
            self._tell(name, claim)

    # Answering

    def claim(self, claim: Claim, source: str) -> None:
        if claim.answered:
            return self._renew(claim, source)
        known = self.asked.get((claim.by, claim.number))
        if known is None or known.back != source:
            return self._start(claim, source)
        known.told.discard(source)
        if known.answer is not None:
            self._tell(source, known.answer)
        else:
            self._repeat(known)
        return None

    def _renew(self, claim: Claim, source: str) -> None:
        """The client is alive elsewhere: what is kept for it must not expire meanwhile."""
        known = self.asked.get((claim.by, claim.number))
        if known is not None:
            known.at = self.now
        session = self.sessions.all.get(f"@{claim.client}")
        if session is not None and session.visit <= claim.visit:
            session.left_at = self.now
        for name in self.forwarding.links:
            if name != source:
                self._tell(name, claim)

    def _repeat(self, asked: OpenClaim) -> None:
        asked.at = self.now
        session = self.sessions.all.get(f"@{asked.claim.client}")
        if not asked.back and session is not None and session.connection is not None:
            self._renew(msgspec.structs.replace(asked.claim, answered=True), "")
        if asked.answer is None:
            asked.told -= asked.unheard  # they may have forgotten that too
            for name in sorted(asked.unheard):
                self._tell(name, asked.claim)

    def handover(self, handover: Handover, source: str) -> None:
        asked = self.asked.get((handover.by, handover.number))
        for run in handover.runs:
            run.check()
        if asked is not None and source in asked.missing:
            if handover.last:
                asked.missing.discard(source)
            asked.newest = max(asked.newest, handover.newest)
            asked.runs += handover.runs
            _later(asked.broken, handover.broken)

    def reconnected(self, name: str) -> None:
        """The neighbour may not have heard our questions, nor that some are settled."""
        for claimed in self.settled:
            self._tell(name, claimed)
        for asked in self.asked.values():
            asked.told.discard(name)
            if name in asked.unheard:
                self._tell(name, asked.claim)

    def flushed(self, message: Flushed, source: str) -> None:
        if (asked := self.asked.get((message.by, message.number))) is not None:
            asked.flushed.add(source)

    def _flush(self, asked: OpenClaim) -> None:
        for name, link in self.forwarding.links.items():
            others = self.forwarding.links.keys() - {name}
            if link.open and not link.frozen and name not in asked.told and asked.flushed >= others:
                asked.told.add(name)
                assert link.connection is not None
                flushed = Flushed(asked.claim.by, asked.claim.number)
                self.forwarding.sends.append(Send(link.connection, flushed))

    def answer(self) -> None:
        """Answer the claims that can be answered now."""
        if not self.asked or self.sessions.unsettled:
            return
        for key, asked in list(self.asked.items()):
            if key not in self.asked:  # a later claim, answered just now, has overtaken it
                continue
            self._flush(asked)
            if not asked.mine and asked.flushed >= self.forwarding.links.keys():
                self._own_part(asked)
            if asked.mine and not asked.missing and asked.answer is None:
                claim = asked.claim
                broken = sorted(asked.broken.items())
                asked.answer = Handover(
                    claim.client, claim.by, claim.number, asked.newest, asked.runs, broken
                )
                if asked.back:
                    self._tell(asked.back, asked.answer)
                else:
                    self._deliver(asked)

    def _own_part(self, asked: OpenClaim) -> None:
        asked.mine = True
        broken = [each for each in self.sessions.all.values() if each.broken >= 0]
        _later(asked.broken, [(each.client, each.broken) for each in broken])
        session = self.sessions.all.get(f"@{asked.claim.client}")
        if not asked.back or session is None:
            return
        asked.newest = max(asked.newest, session.visit)
        moved = session.state is SessionState.MOVED
        if session.visit > asked.claim.visit or (session.visit == asked.claim.visit and not moved):
            return
        if session.connection is not None:
            self.out.append(Close(session.connection, f"the client is at {asked.claim.by} now"))
        session.lost(self.now)
        session.become(SessionState.MOVED)
        session.visit = asked.claim.visit
        self.outstanding.pop(f"{HANDED}{session.client}", None)
        self._forget(session.client, ours=True)
        asked.runs += [held.run for held in self.forwarding.store.waiting_for(session.target)]

    # Delivering what was handed over

    def _deliver(self, asked: OpenClaim) -> None:
        claim = asked.claim
        session = self.sessions.all.get(f"@{claim.client}")
        if session is None:
            return
        if asked.newest > session.visit or not session.claiming:
            # The client has moved on to another broker, which claims for itself what we hold.
            del self.asked[claim.by, claim.number]
            if session.claiming:
                session.become(SessionState.FETCHING)
            return
        self._distrust(session, asked.broken)
        source = f"{HANDED}{claim.client}"
        rest = self.outstanding.setdefault(source, set())
        for run in sorted(asked.runs, key=lambda run: run.seqs[0]):
            if run.visit <= asked.broken.get(run.publisher.partition("#")[0], -1):
                continue
            for at, seq in enumerate(run.seqs):
                self._take(run.one(at), source, session)
                rest.add((run.publisher, seq))
        session.become(SessionState.FETCHING)
        self.forwarding.resume(session)
        if not rest:
            self._done(claim)
        return None

    def _distrust(self, session: Session, broken: dict[str, int]) -> None:
        """Do not deliver what may have gaps before it: it comes again in order, on a later visit."""
        session.distrusts = broken
        self.sessions.store(session)
        for held in self.forwarding.store.waiting_for(session.target):
            if held.run.visit <= broken.get(held.run.publisher.partition("#")[0], -1):
                self.forwarding.release(held, session.target)

    def _take(self, run: Run, source: str, session: Session) -> None:
        stream = self.forwarding.store.stream(run.publisher)
        if stream.find(run.seqs[0]) is None:
            self.forwarding.store.keep(Held(run, [source], {session.target: 0}))
        else:
            held = stream.within(run.seqs[0], run.seqs[0])[0]
            held.waiting.setdefault(session.target, 0)
            if held.run.visit < run.visit:  # ours is of an earlier visit, which may be distrusted
                held.trusted = (*held.trusted, session.target)

    def confirmed(self, client: str, publisher: str, ranges: list[int]) -> None:
        """The client has confirmed something, perhaps the last run that was handed over."""
        rest = self.outstanding.get(f"{HANDED}{client}")
        if rest is None:
            return
        pairs = iter(ranges)
        for first, last in zip(pairs, pairs, strict=False):
            rest -= {(name, seq) for name, seq in rest if name == publisher and first <= seq <= last}
        if not rest:
            for asked in list(self.asked.values()):
                if not asked.back and asked.claim.client == client and asked.answer is not None:
                    self._done(asked.claim)

    def left(self, session: Session) -> None:
        """The client has said goodbye: no broker has to keep anything for it."""
        if session.fetching:
            self._forget(session.client, ours=True)
            self._done(self._claim(session))

    def _done(self, claim: Claim) -> None:
        self.outstanding.pop(f"{HANDED}{claim.client}", None)
        session = self.sessions.all.get(f"@{claim.client}")
        if session is not None and session.fetching:
            session.fetching = False
            if session.state is SessionState.FETCHING:
                session.become(SessionState.HERE)
            self.sessions.store(session)
        self._settle(Claimed(claim.client, claim.by, claim.number, claim.visit), "")

    def claimed(self, claimed: Claimed, source: str) -> None:
        """The client has everything: the old session may go."""
        if claimed not in self.settled:
            session = self.sessions.all.get(f"@{claimed.client}")
            if session is not None:
                moved = session.state is SessionState.MOVED and session.visit == claimed.visit
                if moved or session.visit < claimed.visit:
                    self.sessions.end(session)
            self._settle(claimed, source)

    def _forget(self, client: str, *, ours: bool) -> None:
        """Drop claims for the client that a later one has overtaken."""
        for key, asked in list(self.asked.items()):
            if asked.claim.client == client and (not asked.back if ours else asked.back and asked.answer):
                del self.asked[key]

    def _settle(self, claimed: Claimed, source: str) -> None:
        self.asked.pop((claimed.by, claimed.number), None)
        self._forget(claimed.client, ours=False)
        self.settled[claimed] = self.now
        for name in self.forwarding.links:
            if name != source:
                self._tell(name, claimed)

    def tick(self, now: float, seconds: float) -> None:
        """Ask again what was not answered; forget what no broker asks any more, and what is long over."""
        self.now = now
        for key, asked in list(self.asked.items()):
            if asked.back and now - asked.at > FORGOTTEN * AGAIN:
                del self.asked[key]
            elif not asked.back and f"@{asked.claim.client}" not in self.sessions.all:
                del self.asked[key]
                self.outstanding.pop(f"{HANDED}{asked.claim.client}", None)
            elif not asked.back and now - asked.at > AGAIN:
                self._repeat(asked)
        self.settled = {each: at for each, at in self.settled.items() if now - at < seconds}

    def relinked(self) -> None:
        """Our links have changed: unanswered claims begin again; brokers that asked us will ask again."""
        for key, asked in list(self.asked.items()):
            if asked.back or asked.answer is None:
                del self.asked[key]

    def _tell(self, name: str, message: AnyMessage) -> None:
        link = self.forwarding.links.get(name)
        if link is not None and link.connection is not None:
            self.out.append(Send(link.connection, message))


def _later(visits: dict[str, int], more: list[tuple[str, int]]) -> None:
    for client, visit in more:
        visits[client] = max(visit, visits.get(client, 0))
