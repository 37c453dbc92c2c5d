"""A client that comes from another broker: what is still held for it elsewhere is fetched first.

1. The new broker subscribes for the client; from then on everything new reaches it (and still the old
   one) and waits.
2. When all is in place it asks through the tree who has the session (`Claim`). A broker that has it
   drops the client's filters and answers with what it holds for it (`Handover`), once all that was
   unconfirmed has been sent to it again. Every broker answers for itself and for those behind it.
3. The new broker delivers what was handed over and what has waited, each publisher's in order, one copy
   each.
4. When the client has confirmed all of it, the old broker may forget (`Claimed`). Until then it keeps
   everything: if the new broker dies, the next one claims again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from regraft.broker.core.effects import Close, Effect, Send
from regraft.broker.core.forwarding import Forwarding
from regraft.broker.core.held import Held
from regraft.broker.core.messages import AnyMessage, Claim, Claimed, Handover, Run
from regraft.broker.core.peers import Session
from regraft.broker.core.sessions import Sessions

HANDED = "!"
"""Begins the source of a run that was handed over: there is no upstream to confirm it to."""


@dataclass
class Asked:
    """A claim that is being answered here: for a neighbour, or (`back` is empty) for ourselves."""

    claim: Claim
    back: str
    missing: set[str]
    """Neighbours that have not answered."""
    mine: bool = False
    """Whether our own part is in the answer."""
    found: bool = False
    runs: list[Run] = field(default_factory=list)
    answer: Handover | None = None


class Claims:
    """The claims that one broker makes and answers."""

    def __init__(self, broker: str, sessions: Sessions, forwarding: Forwarding) -> None:
        self.broker = broker
        self.sessions = sessions
        self.forwarding = forwarding
        self.asked: dict[tuple[str, int], Asked] = {}
        self.outstanding: dict[str, set[tuple[str, int]]] = {}
        """By source of handed-over runs: what the client has not confirmed."""
        self.waiting: set[str] = set()
        """Sessions that claim, until they have been served."""
        self.number = 0
        self.out: list[Effect] = []
        self.life = 0

    # Asking

    def begin(self, session: Session) -> None:
        """The session claims; the question itself waits until its filters are in place."""
        session.claiming = True
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
                self.number += 1
                claim = Claim(session.client, self.broker, self.life * 2**20 + self.number)
                self._start(claim, "")

    def _start(self, claim: Claim, back: str) -> None:
        others = [name for name in self.forwarding.links if name != back]
        self.asked[claim.by, claim.number] = Asked(claim, back, set(others))
        for name in others:
            self._tell(name, claim)

    # Answering

    def claim(self, claim: Claim, source: str) -> None:
        known = self.asked.get((claim.by, claim.number))
        if known is None:
            self._start(claim, source)
        elif known.answer is not None:
            self._tell(source, known.answer)

    def handover(self, handover: Handover, source: str) -> None:
        asked = self.asked.get((handover.by, handover.number))
        if asked is not None and source in asked.missing:
            asked.missing.discard(source)
            asked.found |= handover.found
            asked.runs += handover.runs

    def reconnected(self, name: str) -> None:
        """The neighbour may not have heard our questions."""
        for asked in self.asked.values():
            if name in asked.missing:
                self._tell(name, asked.claim)

    def answer(self) -> None:
        """Finish what can be finished."""
        settled = all(link.settled for link in self.forwarding.links.values())
        for asked in list(self.asked.values()):
            if not asked.mine and settled:
                self._own_part(asked)
            if asked.mine and not asked.missing and asked.answer is None:
                claim = asked.claim
                asked.answer = Handover(claim.client, claim.by, claim.number, asked.found, asked.runs)
                if asked.back:
                    self._tell(asked.back, asked.answer)
                else:
                    self._deliver(asked)

    def _own_part(self, asked: Asked) -> None:
        asked.mine = True
        session = self.sessions.all.get(f"@{asked.claim.client}")
        if not asked.back or session is None:
            return
        if session.connection is not None:
            self.out.append(Close(session.connection, f"the client is at {asked.claim.by} now"))
            session.connection = None
        session.moved, session.claiming = True, False
        self.sessions.remove_filters(session)
        asked.found = True
        asked.runs += [held.run for held in self.forwarding.store.waiting_for(session.target)]

    # Delivering what was handed over

    def _deliver(self, asked: Asked) -> None:
        claim = asked.claim
        session = self.sessions.all.get(f"@{claim.client}")
        if session is None or not session.claiming:
            return self._done(claim)
        source = f"{HANDED}{claim.client}"
        rest = self.outstanding.setdefault(source, set())
        for run in sorted(asked.runs, key=lambda run: run.seqs[0]):
            for seq, event in zip(run.seqs, run.events, strict=True):
                self._take(Run(run.publisher, [seq], [event], run.at), source, session)
                rest.add((run.publisher, seq))
        session.claiming = False
        self.forwarding.resume(session)
        if not rest:
            self._done(claim)
        return None

    def _take(self, run: Run, source: str, session: Session) -> None:
        stream = self.forwarding.store.stream(run.publisher)
        if stream.find(run.seqs[0]) is None:
            self.forwarding.store.keep(Held(run, source, {session.target: 0}))
        else:
            stream.within(run.seqs[0], run.seqs[0])[0].waiting.setdefault(session.target, 0)

    def confirmed(self, client: str, publisher: str, ranges: list[int]) -> None:
        """The client has confirmed something: perhaps the last that was handed over."""
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

    def _done(self, claim: Claim) -> None:
        self.outstanding.pop(f"{HANDED}{claim.client}", None)
        self.asked.pop((claim.by, claim.number), None)
        for name in self.forwarding.links:
            self._tell(name, Claimed(claim.client, claim.by, claim.number))

    def claimed(self, claimed: Claimed, source: str) -> None:
        """The client has everything: the old session may go."""
        self.asked.pop((claimed.by, claimed.number), None)
        session = self.sessions.all.get(f"@{claimed.client}")
        if session is not None and session.moved:
            self.sessions.end(session)
        for name in self.forwarding.links:
            if name != source:
                self._tell(name, claimed)

    def _tell(self, name: str, message: AnyMessage) -> None:
        link = self.forwarding.links[name]
        if link.connection is not None:
            self.out.append(Send(link.connection, message))
