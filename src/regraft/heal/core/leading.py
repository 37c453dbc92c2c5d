"""Elections at one node (Mimosa Pudica §3.3): exchanges ballots; as leader, judges and carries the decision
out.

A member that does not lead watches the leader until that says that it is done.
"""

from collections.abc import Callable

from regraft.heal.core.acting import LATER_SECONDS, Acting
from regraft.heal.core.judging import Judging
from regraft.heal.core.knowledge import Knowledge
from regraft.heal.core.recording import Recording
from regraft.heal.core.states import DUTIES, DutyState
from regraft.heal.core.tasks import sleep
from regraft.heal.election import (
    Act,
    Choose,
    Effect,
    Elections,
    GaveUp,
    Learned,
    Send,
    decode,
    encode,
)
from regraft.heal.grant import Grant
from regraft.heal.wire.messages import CarriedOut, PackedBallot
from regraft.model import RegraftError
from regraft.model.transitions import Machine

LEADER_SECONDS = 10.0
"""How long a leader is watched that does not say that it is done."""


class Leading:
    """`settled` is told of each election that has come to its end here, `watch` that leaders have changed."""

    def __init__(
        self,
        known: Knowledge,
        judging: Judging,
        acting: Acting,
        recording: Recording,
        settled: Callable[[str], None],
        watch: Callable[[], None],
    ) -> None:
        self.elections = Elections(known.id, known.settings.life, known.settings.election)
        self.duties: dict[str, Machine[DutyState]] = {}
        self._known = known
        self._judging, self._acting, self._recording = judging, acting, recording
        self._settled, self._watch = settled, watch
        self._leaders: dict[str, str] = {}

    @property
    def leaders(self) -> list[str]:
        """Other nodes that carry a decision out."""
        return list(self._leaders.values())

    # What happens

    def begin(self, grant: Grant) -> None:
        self._do(self.elections.begin(grant, self._known.now))

    def heard(self, node: str, ballot: PackedBallot) -> None:
        self._do(self.elections.receive(node, decode(ballot.data), self._known.now))

    def suspect(self, id: str) -> None:
        self._do(self.elections.suspect(id, self._known.now))

    def trust(self, id: str) -> None:
        self.elections.trust(id)

    def is_done(self, election: str) -> None:
        """The leader has carried the decision out, or is not watched any longer."""
        self.elections.carried_out(election)
        if self._leaders.pop(election, None) is not None:
            self._watch()

    def tick(self) -> None:
        self._do(self.elections.tick(self._known.now))

    def next_due(self) -> float | None:
        return self.elections.next_due()

    def _do(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send():
                    if effect.to not in self.elections.suspected or effect.to in self._known.connected:
                        self._known.tell(effect.to, PackedBallot(data=encode(effect.message)))
                case Choose():
                    duty = self._begin_duty(effect.election, DutyState.JUDGING)
                    self._known.begin(self._decide(effect, duty))
                case Act():
                    self._act(effect)
                case Learned():
                    self._learned(effect)
                case GaveUp():
                    self._known.note(f"the election {effect.election}: {effect.reason}", warning=True)
                    self._retire(effect.election)
                    self._settled(effect.election)

    # Duties

    def _begin_duty(self, election: str, state: DutyState) -> Machine[DutyState]:
        """A leader of a later view begins a new one."""
        duty = self.duties[election] = Machine(DUTIES, state, f"the duty in {election}")
        return duty

    def _retire(self, election: str) -> None:
        """Another node leads, or none: what we have proposed is not ours to carry out."""
        duty = self.duties.get(election)
        if duty is not None and duty.state is not DutyState.ACTING:
            duty.become(DutyState.OVER)
            del self.duties[election]

    async def _decide(self, choose: Choose, duty: Machine[DutyState]) -> None:
        try:
            judgement = await self._judging.decide(choose.grant, self._recording.cause(choose.grant))
        except RegraftError as fault:
            self._known.note(f"{choose.election} cannot be judged: {fault}", warning=True)
            return
        self._recording.judged(choose.election, judgement.reason)
        if duty.state is DutyState.JUDGING:
            duty.become(DutyState.PROPOSED)
        self._do(self.elections.chosen(choose.election, choose.view, judgement.intents, self._known.now))

    def _act(self, act: Act) -> None:
        grant = self._grant(act.election)
        if grant is not None:
            duty = self.duties.get(act.election)
            if duty is None or duty.state is not DutyState.PROPOSED:
                duty = self._begin_duty(act.election, DutyState.ACTING)
            else:
                duty.become(DutyState.ACTING)
            self._known.note(f"leads {act.election}, view {act.view}: {act.decision}")
            self._recording.elected(act)
            self._known.begin(self._carry_out(act, grant, duty))

    async def _carry_out(self, act: Act, grant: Grant, duty: Machine[DutyState]) -> None:
        known, begun = self._known, self._known.now
        crash = self._is_crash(act.election)
        if not crash:
            # Plans take turns by the deployer's lease; a crash nearby should not have to wait for that.
            known.begin(self._recording.give_back(grant))
        reasons = await self._acting.carry_out_all(act.decision, crash=crash)
        spent = 1000 * (known.now - begun)
        await sleep(LATER_SECONDS / 4)  # a new deputy serves its neighbours first
        self.elections.carried_out(act.election)
        duty.become(DutyState.OVER)
        if self.duties.get(act.election) is duty:
            del self.duties[act.election]
        for member in grant.members:
            if member.id not in (known.id, *grant.suspects):
                known.tell(member.id, CarriedOut(election=act.election))
        await self._recording.over(grant, act, spent, reasons)

    def _learned(self, learned: Learned) -> None:
        self._judging.learned(learned, crash=self._is_crash(learned.election))
        self._settled(learned.election)
        if learned.leader == self._known.id:
            return
        self._retire(learned.election)
        if learned.decision:
            self._leaders[learned.election] = learned.leader
            self._watch()
            self._known.tasks.after(LEADER_SECONDS, lambda: self.is_done(learned.election))

    def _grant(self, election: str) -> Grant | None:
        ballot = self.elections.open.get(election)
        return ballot.grant if ballot is not None else None

    def _is_crash(self, election: str) -> bool:
        """Whether it is about a broker that died; also if the cause is not known."""
        grant = self._grant(election)
        cause = self._recording.cause(grant) if grant is not None else None
        return cause is None or bool(cause.event.arguments.get("suspected"))
