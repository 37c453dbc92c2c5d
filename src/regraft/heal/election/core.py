"""All elections at one broker: which of them a message belongs to, and which senders may take part. Sans-IO.

Messages from outside the group are ignored, and so are those of a member that has lost its memory since the
group was formed (another `life`): it could vote twice in one view. For the same reason an election that is
over and forgotten is never begun again.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass

from regraft.heal.election.ballot import Ballot, ElectionSettings
from regraft.heal.election.effects import Effect
from regraft.heal.election.messages import Decision, GroupInfo, Message
from regraft.heal.grant import Grant

EARLY = 256
"""Messages that are kept until the group of their election is known."""
REMEMBERED = 10_000


@dataclass(frozen=True)
class _Early:
    sender: str
    message: Message


class Elections:
    """`begin` and `receive` bring news, `tick` the time; each returns what is to be done."""

    ballot: type[Ballot] = Ballot

    def __init__(self, me: str, life: int = 0, settings: ElectionSettings | None = None) -> None:
        self.me = me
        self.life = life
        self.settings = settings or ElectionSettings()
        self.open: dict[str, Ballot] = {}
        self.suspected: set[str] = set()
        self._over: OrderedDict[str, None] = OrderedDict()
        self._early: deque[_Early] = deque(maxlen=EARLY)

    def begin(self, grant: Grant, now: float) -> list[Effect]:
        """The database's answer, from itself or through another member."""
        own = grant.member(self.me)
        if grant.id in self.open or grant.id in self._over or own is None or own.life != self.life:
            return []
        ballot = self.open[grant.id] = self.ballot(self.me, grant, self.settings, self.suspected)
        effects = ballot.begin(now)
        early = [each for each in self._early if each.message.election == grant.id]
        for each in early:
            self._early.remove(each)
            effects += self.receive(each.sender, each.message, now)
        return effects

    def receive(self, sender: str, message: Message, now: float) -> list[Effect]:
        """`sender` is who the transport says it is."""
        if isinstance(message, GroupInfo):
            known = message.grant.member(sender)
            honest = known is not None and known.life == message.life and message.election == message.grant.id
            return self.begin(message.grant, now) if honest else []
        ballot = self.open.get(message.election)
        if ballot is None:
            if message.election not in self._over:
                self._early.append(_Early(sender, message))
            return []
        if not self.belongs(ballot.grant, sender, message):
            return []
        return ballot.receive(sender, message, now)

    def belongs(self, grant: Grant, sender: str, message: Message) -> bool:
        member = grant.member(sender)
        return member is not None and member.life == message.life and sender != self.me

    def chosen(self, election: str, view: int, decision: Decision, now: float) -> list[Effect]:
        """The answer to `Choose`."""
        ballot = self.open.get(election)
        return ballot.chosen(view, decision, now) if ballot else []

    def suspect(self, broker: str, now: float) -> list[Effect]:
        """The failure detector suspects this broker: no election waits for it as a leader."""
        self.suspected.add(broker)
        return [effect for ballot in list(self.open.values()) for effect in ballot.suspected(broker, now)]

    def carried_out(self, election: str) -> None:
        """The decision has been carried out. Without this call, the next leader does it again if this one
        dies."""
        if election in self.open:
            self.open[election].carried_out = True

    def trust(self, broker: str) -> None:
        self.suspected.discard(broker)

    def tick(self, now: float) -> list[Effect]:
        effects = [effect for ballot in list(self.open.values()) for effect in ballot.tick(now)]
        for id in [id for id, ballot in self.open.items() if ballot.forgettable(now)]:
            del self.open[id]
            self._over[id] = None
            if len(self._over) > REMEMBERED:
                self._over.popitem(last=False)
        return effects

    def next_due(self) -> float | None:
        """When `tick` has something to do."""
        return min([ballot.due for ballot in self.open.values()]) if self.open else None
