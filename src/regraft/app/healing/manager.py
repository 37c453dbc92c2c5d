"""The adaptation manager of one node (Mimosa Pudica §4.2): event checker, rule interpreter, and what follows.

    detector, monitor, newcomers ──event──▶ grant of the database ──▶ election ──▶ the leader: rules ──▶ acts
                                                                                        │
                                             log of adaptations ◀── four phases ────────┘

There is no central one: each node notices what happens around its brokers, and of those that a grant names
one leads. Whatever is decided may be carried out twice; whatever is lost on the way is noticed again.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from regraft.app.healing.acts import Acts
from regraft.app.healing.deploy import Repairs
from regraft.app.healing.elections import Electing
from regraft.app.healing.events import EventChecker
from regraft.app.healing.facts import Interpreter
from regraft.app.healing.hosting import LATER_SECONDS, Hosted
from regraft.app.healing.log import Log, record_of
from regraft.app.healing.parts import Parts
from regraft.app.healing.tidying import Tidying
from regraft.app.healing.watch import Watching
from regraft.coord import Corrupt
from regraft.coord.typed import watch
from regraft.deploy.journal import topology_of
from regraft.deploy.records import Current
from regraft.heal.database.group import distances
from regraft.heal.database.records import BrokerRecord
from regraft.heal.detection import Suspect
from regraft.heal.election import Act, Choose, GaveUp, Learned
from regraft.heal.ownership import Owner
from regraft.heal.raised import raised
from regraft.heal.wire import (
    Answer,
    AskJoin,
    AskReach,
    Ballot,
    CarriedOut,
    Cause,
    Here,
    Message,
    Ping,
    Pong,
    Reach,
    SendAway,
)
from regraft.model import BadInput

log = logging.getLogger("regraft.heal")
NEARBY = 3
"""Links: so far around, owners are followed; groups are seldom larger."""
LEADER_SECONDS = 10.0
"""So long a leader is watched that has not said that it is done."""


class Manager:
    """Of a node whose own broker runs already."""

    def __init__(self, parts: Parts, own: Hosted) -> None:
        self.parts = parts
        self.left = asyncio.Event()
        """Our own broker is not in the overlay any more."""
        self.joined = asyncio.Event()
        self.repairs = Repairs(parts.coord, parts.layout)
        self.watching = Watching(parts, self._suspected, self._trusted, self._doubted, self._expected)
        self.electing = Electing(
            parts.id,
            own.journal.life,
            parts.settings.election,
            parts.connections,
            self._choose,
            self._act,
            self._learned,
            self._gave_up,
        )
        self.tidying = Tidying(parts, self.repairs, self._removed)
        self.acts = Acts(
            parts, self.repairs, self.watching.refused, self._deputy, self.tidying.add, self._send_away
        )
        self.interpreter = Interpreter(parts, self.watching)
        self.log = Log(parts)
        self.events = EventChecker(parts, self.watching, self.electing, self.interpreter, self.log)
        self._leaders: dict[str, str] = {}
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._number = 0

    async def start(self) -> None:
        begin = self.parts.begin
        begin(self._follow_topology())
        begin(self.watching.run())
        begin(self.tidying.run())
        begin(self.events.run())
        begin(self._follow_raised())

    def stop(self) -> None:
        self.watching.stop()
        self.electing.stop()

    def own_record(self) -> BrokerRecord:
        own = self.parts.hosting.brokers[self.parts.id]
        return record_of(own)

    # What others say

    def heard(self, peer: str, message: Message) -> None:
        match message:
            case Ping():
                self.watching.ping(peer, message)
            case Pong():
                self.watching.pong(peer, message)
            case Ballot():
                try:
                    self.electing.heard(peer, message)
                except BadInput as fault:
                    log.warning("%s: %s says %s", self.parts.id, peer, fault)
            case Cause():
                self.log.caused(message)
            case Here():
                self._here(message)
            case CarriedOut():
                self._is_done(message.election)
            case AskReach():
                reached = self.parts.connections.connected(self.parts.whereabouts.node_of(message.broker))
                reached &= message.broker not in self.watching.detector.suspected
                self.parts.connections.send(peer, Reach(number=message.number, reached=reached))
            case AskJoin():
                refused = self.events.join(message.broker, message.beside)
                self.parts.connections.send(peer, Answer(number=message.number, refused=refused))
            case SendAway():
                refused = self._clients_leave(message.broker, message.seconds)
                self.parts.connections.send(peer, Answer(number=message.number, refused=refused))
            case Reach():
                self._answered(message.number, message.reached)
            case Answer():
                self._answered(message.number, message.refused)

    def _answered(self, number: int, answer: object) -> None:
        if (waiting := self._answers.pop(number, None)) is not None and not waiting.done():
            waiting.set_result(answer)

    async def ask(self, node: str, question: Callable[[int], Message], seconds: float) -> Any:
        """The answer to a question, which gets a number; `TimeoutError` if there is none."""
        self._number = number = self._number + 1
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self.parts.connections.send(node, question(number))
        try:
            async with asyncio.timeout(seconds):
                return await answer
        finally:
            self._answers.pop(number, None)

    def _here(self, here: Here) -> None:
        owner = Owner(
            life=here.life,
            host=here.host,
            port=here.port,
            by=here.by,
            heal_host=here.heal_host,
            heal_port=here.heal_port,
        )
        self.parts.whereabouts.learn(here.broker, owner)
        self._call(here.broker)

    def moved(self, id: str) -> None:
        """The broker has another owner. With a deputy it is served again, but it can not vote."""
        self._call(id)
        self.watching.moved(id)
        self.acts.forget(id)
        self.events.expect_no_more(id)
        if self.parts.whereabouts.node_of(id) == id:
            self.electing.trust(id)

    def _call(self, id: str) -> None:
        """It is there, now; who heard of it from ZooKeeper may have called too early."""
        for hosted in self.parts.hosting.brokers.values():
            if hosted.server.core is not None and not hosted.ended:
                hosted.server.call(id)

    # Suspicions

    def _suspected(self, suspicion: Suspect) -> None:
        self.electing.suspect(suspicion.peer)
        if suspicion.evidence.hard:
            self.events.gone(suspicion)

    def _trusted(self, id: str) -> None:
        self.electing.trust(id)
        self.acts.forget(id)
        self.events.back(id)

    def _doubted(self, id: str) -> None:
        self.acts.expect(id)

    def _expected(self, id: str) -> None:
        self.events.expect(id)

    # Elections

    def _choose(self, choose: Choose) -> None:
        self.parts.begin(self._decide(choose))

    async def _decide(self, choose: Choose) -> None:
        decision = await self.interpreter.decide(choose.grant, self.log.cause(choose.grant), self._reaches)
        self.log.decided(choose.election, decision)
        self.electing.chosen(choose, decision.intents)

    async def _reaches(self, member: str, broker: str, seconds: float) -> bool:
        try:
            return bool(await self.ask(member, lambda n: AskReach(number=n, broker=broker), seconds))
        except TimeoutError:
            return False

    def _act(self, act: Act) -> None:
        grant = self.electing.grant(act.election)
        if grant is not None:
            log.info("%s: leads %s, view %d: %s", self.parts.id, act.election, act.view, act.decision)
            self.log.elected(act)
            self.parts.begin(self._carry_out(act))

    async def _carry_out(self, act: Act) -> None:
        begun = time.monotonic()
        grant = self.electing.grant(act.election)
        crash = self._is_crash(act.election)
        if grant is not None and not crash:
            # Plans take turns by the deployer's lease; a crash nearby should not have to wait for that.
            self.parts.begin(self.log.give_back(grant))
        reasons = await self.acts.carry_out_all(act.decision, crash=crash)
        spent = 1000 * (time.monotonic() - begun)
        await asyncio.sleep(LATER_SECONDS / 4)
        self.electing.carried_out(act.election)
        for member in grant.members if grant is not None else ():
            if member.id not in (self.parts.id, *(grant.suspects if grant else ())):
                self.parts.connections.send(member.id, CarriedOut(election=act.election))
        if grant is not None:
            await self.log.release(grant, act, spent, reasons)

    def _is_crash(self, election: str) -> bool:
        """Whether it is about a broker that died; so it is, if nobody has said why."""
        grant = self.electing.grant(election)
        cause = self.log.cause(grant) if grant is not None else None
        return cause is None or bool(cause.event.arguments.get("suspected"))

    def _learned(self, learned: Learned) -> None:
        self.interpreter.learned(learned, crash=self._is_crash(learned.election))
        self.events.settled(learned.election)
        if learned.leader != self.parts.id and learned.decision:
            self._leaders[learned.election] = learned.leader
            self._watch()
            loop = asyncio.get_running_loop()
            loop.call_later(LEADER_SECONDS, self._is_done, learned.election)

    def _is_done(self, election: str) -> None:
        self.electing.carried_out(election)
        if self._leaders.pop(election, None) is not None:
            self._watch()

    def _gave_up(self, gave_up: GaveUp) -> None:
        log.warning("%s: the election %s: %s", self.parts.id, gave_up.election, gave_up.reason)
        self.events.settled(gave_up.election)

    # What follows

    def _watch(self) -> None:
        self.watching.watch(self._leaders.values())

    def _deputy(self, hosted: Hosted) -> None:
        self._call(hosted.id)
        self._watch()
        self.tidying.add(hosted.id)
        record = record_of(hosted, heir=self.parts.id)
        self.parts.begin(self.log.record(record, LATER_SECONDS))

    def _removed(self, id: str) -> None:
        record = BrokerRecord(id=id, state="left", heir=self.parts.id)
        self.parts.begin(self.log.left(record))
        self._watch()

    async def _send_away(self, id: str, seconds: float) -> str:
        node = self.parts.whereabouts.node_of(id)
        if node == self.parts.id:
            return self._clients_leave(id, seconds)
        try:
            away = await self.ask(node, lambda n: SendAway(number=n, broker=id, seconds=seconds), seconds)
            return str(away)
        except TimeoutError:
            return f"{id} does not answer"

    def _clients_leave(self, id: str, seconds: float) -> str:
        hosted = self.parts.hosting.brokers.get(id)
        if hosted is None:
            return f"{id} is not here"
        hosted.server.send_away(seconds)
        return ""

    async def _follow_raised(self) -> None:
        await self.joined.wait()
        async for event in raised(self.parts.coord, self.parts.layout, self.parts.id):
            log.info("%s: somebody raises %s", self.parts.id, event.name)
            await self.events.happened(event, asked=True)

    # The overlay

    async def _follow_topology(self) -> None:
        async for stored in watch(self.parts.coord, self.parts.layout.topology, Current):
            if stored is None or isinstance(stored, Corrupt):
                continue
            self.parts.topology = topology_of(stored.value)
            self.parts.epoch = stored.value.epoch
            self._changed()

    def _changed(self) -> None:
        topology = self.parts.topology
        assert topology is not None
        if self.parts.id in topology.neighbours:
            self.joined.set()
        elif self.joined.is_set():
            self.left.set()
        near = {
            id
            for here in self.parts.hosting.brokers
            if here in topology.neighbours
            for id, far in distances(topology.neighbours, here).items()
            if far <= NEARBY
        }
        self.parts.whereabouts.follow(near)
        self._watch()
