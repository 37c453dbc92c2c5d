"""What a leader does: it carries Intents out. Each may be done twice, by one leader after another.

| Intent | |
|---|---|
| Delete, of one that died | a deputy starts from its journal at once; later its links move and it leaves |
| Delete, of one that lives | the same without a deputy; it is out of service (`Retire`) |
| Add | it is started, if it does not run; then a plan that appends it |
| ShiftAway | a plan of one shift |
| MoveClients | the broker sends its clients away, for a while |
| Migrate, Clone | components are moved or cloned |
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from regraft.heal.core.effects import SendClientsAway
from regraft.heal.core.knowledge import Knowledge, LocalBroker
from regraft.heal.core.repairs import Repairs
from regraft.heal.core.requests import (
    Claim,
    Examine,
    ExecutionLimits,
    Look,
    MoveComponents,
    ReadComponents,
    RemoveDeadDeployer,
    Retire,
    StandIn,
    Start,
    Sync,
)
from regraft.heal.core.tasks import Request, Signal, Task, sleep
from regraft.heal.detection import Evidence
from regraft.heal.owner import NotTaken, Owner, Seen, Why
from regraft.heal.repair import inserted
from regraft.heal.repair_plan import inserting, shifting
from regraft.heal.wire import messages as wire
from regraft.model import Infeasible, Plan, RegraftError, Topology
from regraft.model.intents import Add, Clone, Delete, Intent, Migrate, MoveClients, ShiftAway
from regraft.model.topology import Broker

ATTEMPTS = 5
PLAN_SECONDS = 30.0
AWAY_SECONDS = 10.0
LATER_SECONDS = 0.1
"""Delays what can wait, so that the neighbours of a new deputy are served first."""
PLAN_LIMITS = ExecutionLimits(seconds=5.0, attempts=3)


@dataclass(frozen=True)
class ActingCallbacks:
    """`refused`: whether that owner's address has just refused us. `deputy` is called for each deputy that
    has begun, `leaving` for each living broker that is to leave."""

    refused: Callable[[str, Owner], bool]
    deputy: Callable[[str], None]
    leaving: Callable[[str], None]


class Acting:
    def __init__(self, known: Knowledge, repairs: Repairs, callbacks: ActingCallbacks) -> None:
        self._known = known
        self._repairs = repairs
        self._callbacks = callbacks
        self._looks: dict[str, Task[Seen | None]] = {}
        self._deleting: dict[str, Signal[None]] = {}

    def expect(self, id: str) -> None:
        """A takeover of this broker is likely: reads what it left while the group decides."""
        if id not in self._looks:
            self._looks[id] = self._known.begin(_looked(id))

    def forget(self, id: str) -> None:
        """It answers again."""
        if (looking := self._looks.pop(id, None)) is not None:
            looking.cancel()

    async def carry_out_all(self, decision: Iterable[Intent], *, crash: bool) -> list[str]:
        """One after the other; returns what was not done, and why. A broker that its components were to leave
        is deleted when all of them have left, and stays otherwise (Mimosa Pudica §4.3, rule 3)."""
        reasons: list[str] = []
        moved: dict[str, bool] = {}
        for intent in decision:
            try:
                reason = ""
                if isinstance(intent, Delete) and intent.broker in moved:
                    reason = await self._held(intent.broker, moved[intent.broker])
                reason = reason or await self.carry_out(intent, crash=crash)
            except RegraftError as fault:
                reason = str(fault)
            if isinstance(intent, Migrate):
                moved[intent.source] = moved.get(intent.source, True) and not reason
            if reason:
                reasons.append(reason)
        return reasons

    async def carry_out(self, intent: Intent, *, crash: bool) -> str:
        """Empty, or why it was not done. `crash`: a crash is the cause, so a broker that lives again
        stays."""
        match intent:
            case Delete():
                return await self._delete(intent.broker, crash)
            case Add():
                return await self._add(intent)
            case ShiftAway():
                return await self._shift(intent)
            case MoveClients():
                return await self._send_away(intent.broker)
            case Migrate() | Clone():
                return await MoveComponents(intent)

    async def _held(self, id: str, moved: bool) -> str:
        """Why this broker stays; empty if all of its components have left. One may have come meanwhile, or
        the event may have named only some of them."""
        if not moved:
            return f"{id} stays: its components could not leave"
        there = (await ReadComponents()).get(id, ())
        return f"{id} stays: {', '.join(there)} has not left it" if there else ""

    # A broker that died

    async def _delete(self, id: str, crash: bool) -> str:
        """Two elections may decide about the same broker. The second waits: a deputy that is replaced by
        another in the same process would end, and take the other with it."""
        while (other := self._deleting.get(id)) is not None:
            await other.within()
        over = self._deleting[id] = Signal()
        try:
            return await self._delete_alone(id, crash)
        finally:
            del self._deleting[id]
            over.give(None)

    async def _delete_alone(self, id: str, crash: bool) -> str:
        known, topology = self._known, self._known.topology
        if id == known.id:
            return f"{id} leads, and does not remove itself"
        if topology is None or id not in topology.neighbours or id in known.here:
            return ""
        reason = ""
        for _ in range(ATTEMPTS):
            seen = await self._seen(id)
            owner = seen.owner
            if owner is None:
                return f"{id} has never been there"
            evidence = Evidence.REFUSED
            if not self._callbacks.refused(id, owner):
                evidence = await Examine(id, owner)
            if not evidence.hard:  # it, or its deputy, answers
                return "" if owner.by or crash else await self._remove_living(id)
            why = Why.PROCESS_GONE if evidence is Evidence.REFUSED else Why.VACANT
            taken = await StandIn(id, topology.neighbours[id], seen, why)
            if not isinstance(taken, NotTaken):
                self._begun(id, taken, topology.neighbours[id], seen.session, crash)
                return ""
            reason = taken.reason
            await Sync()
        return reason

    def _begun(self, id: str, owner: Owner, near: frozenset[str], session: int, crash: bool) -> None:
        known = self._known
        known.note(f"is the deputy of {id}, life {owner.life}")
        known.here[id] = LocalBroker(owner, near)
        known.learn(id, owner)
        self._announce(id, owner, near)
        if not crash:
            known.begin(self._later(Retire(id), 0.0))
        if session:
            known.begin(self._later(RemoveDeadDeployer(session), LATER_SECONDS))
        self._callbacks.deputy(id)

    async def _later(self, request: Request[None], seconds: float) -> None:
        try:
            if seconds:
                await sleep(seconds)
            await request
        except RegraftError as fault:
            self._known.note(f"{request}: {fault}", warning=True)

    async def _remove_living(self, id: str) -> str:
        reason = await Claim(id)
        if not reason:
            await Retire(id)
            self._callbacks.leaving(id)
        return reason

    async def _seen(self, id: str) -> Seen:
        if (looking := self._looks.pop(id, None)) is not None:
            seen = await looking.over.within()
            if seen is not None:
                return seen
        return await Look(id)

    def _announce(self, id: str, owner: Owner, near: frozenset[str]) -> None:
        """Tells the neighbours, which have to dial it; they would see it in ZooKeeper a little later."""
        news = wire.NewOwner.of(id, owner)
        for node in sorted({self._known.node_of(each) for each in near} - {self._known.id}):
            self._known.tell(node, news)

    # Clients

    async def _send_away(self, id: str) -> str:
        node = self._known.node_of(id)
        if node == self._known.id:
            return self.clients_leave(id, AWAY_SECONDS)
        answer = await self._known.ask(
            node,
            lambda number: wire.SendAway(number=number, broker=id, seconds=AWAY_SECONDS),
            AWAY_SECONDS,
        )
        return f"{id} does not answer" if answer is None else str(answer)

    def clients_leave(self, id: str, seconds: float) -> str:
        if id not in self._known.here:
            return f"{id} is not here"
        self._known.effects.append(SendClientsAway(id, seconds))
        return ""

    # Plans

    async def _add(self, intent: Add) -> str:
        """Where the rule wants it; if that place is gone, beside the broker with the fewest links."""

        def make(topology: Topology) -> Plan | None:
            if intent.broker in topology.neighbours:
                return None
            between = tuple(id for id in intent.between if id in topology.neighbours)
            if not between or isinstance(inserted(topology, Broker(intent.broker), between), Infeasible):
                living = [id for id in topology.ids if self._known.node_of(id) == id]
                least = min(living or topology.ids, key=lambda id: (len(topology.neighbours[id]), id))
                between = (least,)
            return inserting(topology, intent.broker, between)

        reason = await Start(intent.broker, intent.between)
        return reason or await self._repairs.carry_out(make, PLAN_LIMITS, PLAN_SECONDS)

    async def _shift(self, intent: ShiftAway) -> str:
        one, away, to = intent.neighbour, intent.broker, intent.to

        def make(topology: Topology) -> Plan | None:
            near = topology.neighbours.get(away, frozenset())
            return shifting(topology, one, away, to) if {one, to} <= near else None

        return await self._repairs.carry_out(make, PLAN_LIMITS, PLAN_SECONDS)


async def _looked(id: str) -> Seen | None:
    """None if ZooKeeper is away: then it is read again when it is needed."""
    try:
        return await Look(id)
    except RegraftError:
        return None
