"""One election at one member: views, votes, and a decision that all views share. Sans-IO.

    following --votes of a majority, we lead--> choosing --chosen--> leading --a majority accepts--> decided
        |  ^                                                                                          ^
        |  +--NL of the view's leader: accepted, and the timer starts again                           |
        +--the timer ends, or the leader is suspected: next view ------- DECIDED from a member -------+

Algorithm 1 with two changes (decision 15). Who leads a view follows from the view alone: the candidates in
the order of their distance from the publisher, each in turn, which is the paper's criteria a, c and d; a
member that suspects a view's leader (b) enters the next view at once. And a leader acts only when a majority
has accepted its decision; votes carry what their senders accepted, and a later leader proposes the latest of
that again. A vote in a view is thus a promise not to accept anything of an earlier one, any two majorities
share a member, and all leaders of an election act on the same decision.
"""

from dataclasses import dataclass

from regraft.heal.election.effects import Act, Choose, Effect, GaveUp, Learned, Send
from regraft.heal.election.messages import (
    Accepted,
    Decided,
    Decision,
    GroupInfo,
    Message,
    NewLeader,
    Proposal,
    Vote,
)
from regraft.heal.grant import Grant
from regraft.model import BadInput

MOST_VIEWS = 1_000_000
"""Messages of later views are ignored."""


@dataclass(frozen=True)
class ElectionSettings:
    """Seconds. `timer` is Δ: how long a leader may be silent before it is given up; longer in later views."""

    timer: float = 0.1
    growth: float = 1.5
    longest: float = 2.0
    resend: float = 0.02
    patience: float = 10.0
    """After this time the election is given up: there is no majority."""
    keep: float = 30.0
    """How long a decision is kept, and told to members that ask."""

    def __post_init__(self) -> None:
        if min(self.timer, self.resend, self.patience, self.longest) <= 0 or self.growth < 1 or self.keep < 0:
            raise BadInput("election", "times must be positive, and growth at least 1")

    def of_view(self, view: int) -> float:
        return float(min(self.longest, self.timer * self.growth ** min(view, 64)))


class Ballot:
    """What one member knows of one election."""

    def __init__(self, me: str, grant: Grant, settings: ElectionSettings, suspected: set[str]) -> None:
        self.me = me
        self.grant = grant
        self.settings = settings
        self.view = 0
        self.accepted: Proposal | None = None
        self.votes: dict[str, Proposal | None] = {}
        """The votes of this view by voter, with what each has accepted."""
        self.heard: set[str] = {me}
        self.asked = False
        """Whether we have asked our shell for a decision in this view."""
        self.proposed: Decision | None = None
        """What we have proposed in this view."""
        self.accepts: set[str] = set()
        self.decided: Decided | None = None
        self.carried_out = False
        """The decision has been carried out: a leader that dies needs no successor."""
        self.over = False
        own = grant.member(me)
        assert own is not None  # nobody else votes: `Elections.begin`
        self._life = own.life
        self._suspected = suspected
        self._begun = self._timer = self._resend = self._pause = 0.0

    # What happens

    def begin(self, now: float) -> list[Effect]:
        self._begun = now
        if not self.grant.candidates:
            return self._give_up(now, "every member is suspected")
        effects: list[Effect] = []
        if self.grant.asker == self.me:
            effects += self._to_all(self._group_info())
        return effects + self._enter(0, now)

    def receive(self, sender: str, message: Message, now: float) -> list[Effect]:
        self.heard.add(sender)
        if self.over or getattr(message, "view", 0) > MOST_VIEWS:
            return []
        if self.decided is not None:
            return self._told(sender, message)
        effects: list[Effect] = []
        match message:
            case Vote():
                effects = self._vote(sender, message, now)
            case NewLeader():
                effects = self._new_leader(sender, message, now)
            case Accepted():
                effects = self._accepted(sender, message, now)
            case Decided():
                effects = [*self._learn(message, now), Send(sender, self._receipt(message.view))]
        return effects

    def chosen(self, view: int, decision: Decision, now: float) -> list[Effect]:
        stale = view != self.view or not self.asked or self.proposed is not None
        return [] if stale or self.over or self.decided is not None else self._propose(decision, now)

    def suspected(self, broker: str, now: float) -> list[Effect]:
        if self.over or broker == self.me or self.leader(self.view) != broker:
            return []
        return self._enter(self.view + 1, now) if self.decided is None else self._succeed(self.decided)

    def _succeed(self, decided: Decided) -> list[Effect]:
        """The leader has died before the decision was carried out: the next one does that."""
        self.view = self._usable_from(self.view + 1)
        if self.carried_out or self.leader(self.view) != self.me:
            return []
        return [Act(self.grant.id, self.view, decided.decision)]

    def tick(self, now: float) -> list[Effect]:
        if self.over or now < self.due:
            return []
        if self.decided is not None:
            return self._tell(now) if now < self._timer else []
        if now >= self._begun + self.settings.patience:
            return self._give_up(
                now, f"no majority of {len(self.grant.members)} in {self.settings.patience:g} s"
            )
        if now >= self._timer:
            return self._enter(self.view + 1, now)
        self._resend = now + self.settings.resend
        return self._again()

    @property
    def due(self) -> float:
        if self.over or self.decided is not None:
            return min(self._timer, self._resend)
        return min(self._timer, self._resend, self._begun + self.settings.patience)

    def forgettable(self, now: float) -> bool:
        return (self.over or self.decided is not None) and now >= self._timer

    # Views

    def leader(self, view: int) -> str:
        """Each candidate in turn; when all have had theirs, they begin again."""
        candidates = self.grant.candidates
        return candidates[view % len(candidates)]

    def _enter(self, view: int, now: float) -> list[Effect]:
        """Follow the leader of this view; or of the next whose leader is not suspected, if there is one."""
        self._turn_to(self._usable_from(view), now)
        self.votes = {self.me: self.accepted}
        return [*self._to_all(self._own_vote()), *self._lead_if_elected(now)]

    def _usable_from(self, view: int) -> int:
        views = range(view, view + len(self.grant.candidates))
        return next((v for v in views if self._usable(self.leader(v))), view)

    def _usable(self, leader: str) -> bool:
        return leader == self.me or leader not in self._suspected

    def _turn_to(self, view: int, now: float) -> None:
        self.view = view
        self.votes, self.accepts = {}, set()
        self.asked, self.proposed = False, None
        self._wait(now)

    def _wait(self, now: float) -> None:
        self._timer = now + self.settings.of_view(self.view)
        self._resend = now + self.settings.resend

    def _vote(self, sender: str, vote: Vote, now: float) -> list[Effect]:
        if vote.leader != self.leader(vote.view):
            return []  # its sender orders the candidates differently
        if vote.view < self.view:
            return [Send(sender, self._own_vote())]  # the sender is behind
        effects: list[Effect] = self._enter(vote.view, now) if vote.view > self.view else []
        if vote.view == self.view:
            self.votes[sender] = vote.accepted
        return effects + self._lead_if_elected(now)

    # Leading

    def _lead_if_elected(self, now: float) -> list[Effect]:
        elected = self.leader(self.view) == self.me and len(self.votes) >= self.majority()
        if not elected or self.asked or self.proposed is not None:
            return []
        self.asked = True
        before = self.latest(list(self.votes.values()))
        if before is not None:
            return self._propose(before.decision, now)
        return [Choose(self.grant.id, self.view, self.grant)]

    def majority(self) -> int:
        return self.grant.majority

    def latest(self, accepted: list[Proposal | None]) -> Proposal | None:
        """What may have been decided in an earlier view: it binds us."""
        return max((each for each in accepted if each is not None), key=lambda each: each.view, default=None)

    def _propose(self, decision: Decision, now: float) -> list[Effect]:
        self.proposed = decision
        self.accepted = Proposal(self.view, decision)
        self.accepts = {self.me}
        self._wait(now)
        return [*self._to_all(self._proposal(decision)), *self._decide_if_accepted(now)]

    def _accepted(self, sender: str, accepted: Accepted, now: float) -> list[Effect]:
        if accepted.view != self.view or self.proposed is None:
            return []
        self.accepts.add(sender)
        return self._decide_if_accepted(now)

    def _decide_if_accepted(self, now: float) -> list[Effect]:
        if self.proposed is None or len(self.accepts) < self.majority():
            return []
        decision = self.proposed
        done = Decided(
            election=self.grant.id, life=self._life, leader=self.me, view=self.view, decision=decision
        )
        self.accepts = set()  # from here on: the members that know the decision
        act = Act(self.grant.id, self.view, decision)
        return [act, *self._learn(done, now), *self._to_all(done)]

    # Following

    def _new_leader(self, sender: str, news: NewLeader, now: float) -> list[Effect]:
        if sender != self.leader(news.view):
            return []
        if not self.may_accept(news.view):
            return [Send(sender, self._own_vote())]
        if news.view > self.view:
            self._turn_to(news.view, now)
            self.votes = {self.me: self.accepted}
        self.accepted = Proposal(news.view, news.decision)
        self._wait(now)
        return [Send(sender, self._receipt(news.view))]

    def may_accept(self, view: int) -> bool:
        return view >= self.view

    def _learn(self, decided: Decided, now: float) -> list[Effect]:
        self.decided = decided
        self.view = decided.view
        self._timer = now + self.settings.keep
        self._pause = self.settings.resend
        self._resend = now + self._pause if decided.leader == self.me else self._timer
        return [Learned(self.grant.id, decided.view, decided.leader, decided.decision)]

    def _tell(self, now: float) -> list[Effect]:
        """The leader tells members that have not confirmed, less and less often: some may be dead."""
        self._pause *= 2
        self._resend = now + self._pause
        unsure = [each.id for each in self.grant.members if each.id not in self.accepts | {self.me}]
        known = self.decided_as_known()
        return [Send(id, news) for id in unsure for news in (self._group_info(), known)]

    def _told(self, sender: str, message: Message) -> list[Effect]:
        match message:
            case Decided():
                return [Send(sender, self._receipt(message.view))]
            case Accepted():
                self.accepts.add(sender)
                return []
        return [Send(sender, self.decided_as_known())]

    def _give_up(self, now: float, reason: str) -> list[Effect]:
        self.over = True
        self._timer = now
        return [GaveUp(self.grant.id, reason)]

    # Messages

    def _again(self) -> list[Effect]:
        """Repeats what may have been lost. A member that was never heard of may not know the group."""
        unheard: list[Effect] = [
            Send(each.id, self._group_info()) for each in self.grant.members if each.id not in self.heard
        ]
        if self.proposed is None:
            return [*unheard, *self._to_all(self._own_vote())]
        news = self._proposal(self.proposed)
        return unheard + [
            Send(each.id, news) for each in self.grant.members if each.id not in self.accepts | {self.me}
        ]

    def _to_all(self, message: Message) -> list[Effect]:
        return [Send(each.id, message) for each in self.grant.members if each.id != self.me]

    def _group_info(self) -> GroupInfo:
        return GroupInfo(election=self.grant.id, life=self._life, grant=self.grant)

    def _receipt(self, view: int) -> Accepted:
        return Accepted(election=self.grant.id, life=self._life, view=view)

    def _own_vote(self) -> Vote:
        leader = self.leader(self.view)
        id, life = self.grant.id, self._life
        return Vote(election=id, life=life, leader=leader, view=self.view, accepted=self.accepted)

    def _proposal(self, decision: Decision) -> NewLeader:
        return NewLeader(election=self.grant.id, life=self._life, view=self.view, decision=decision)

    def decided_as_known(self) -> Decided:
        assert self.decided is not None
        known = self.decided
        return Decided(
            election=self.grant.id,
            life=self._life,
            leader=known.leader,
            view=known.view,
            decision=known.decision,
        )
