"""What a leader does: Intents carried out. Each may be done twice, by one leader after another.

| Intent | |
|---|---|
| Delete, of one that died | a deputy from its journal, at once; at leisure, its links go and it leaves |
| Delete, of one that lives | the same without a deputy; it is out of service (`in_service`) |
| Add | it is started, if it does not run; then a plan that appends it |
| ShiftAway | a plan of one shift |
| MoveClients | the broker sends its clients away, for a while |
| Migrate, Clone | components go |
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable

from regraft.app.healing.component_moves import components_of, move_components
from regraft.app.healing.deploy import Repairs, bury
from regraft.app.healing.hosting import LATER_SECONDS, Hosted
from regraft.app.healing.in_service import ask_to_start, retire
from regraft.app.healing.parts import Parts
from regraft.app.healing.removals import claim
from regraft.app.healing.watch import examine
from regraft.coord import CoordError
from regraft.deploy.begin import Settings
from regraft.heal.detection import Evidence
from regraft.heal.ownership import Look, Owner, Why, look
from regraft.heal.repair import inserted
from regraft.heal.repair_plan import inserting, shifting
from regraft.heal.wire import Here
from regraft.model import Infeasible, Plan, RegraftError, Topology
from regraft.model.intents import Add, Clone, Delete, Intent, Migrate, MoveClients, ShiftAway
from regraft.model.topology import Broker

log = logging.getLogger("regraft.heal")
ATTEMPTS = 5
PLAN_SECONDS = 30.0
AWAY_SECONDS = 10.0
CAREFUL = Settings(seconds=5.0, attempts=3, canaries=0)


class Acts:
    """`refused` says whether that owner's address has just refused us. `deputy`: called with each deputy that
    has begun; `leaving`: with a living broker that is to go."""

    def __init__(
        self,
        parts: Parts,
        repairs: Repairs,
        refused: Callable[[str, Owner], bool],
        deputy: Callable[[Hosted], None],
        leaving: Callable[[str], None],
        send_away: Callable[[str, float], Awaitable[str]],
    ) -> None:
        self._parts = parts
        self._repairs = repairs
        self._refused = refused
        self._deputy, self._leaving, self._send_away = deputy, leaving, send_away
        self._looks: dict[str, asyncio.Task[Look]] = {}

    def expect(self, id: str) -> None:
        """A takeover of this broker is likely: look at what it left, while others decide."""
        if id not in self._looks:
            self._looks[id] = self._parts.begin(look(self._parts.coord, self._parts.layout, id))

    def forget(self, id: str) -> None:
        """It answers again."""
        if (looking := self._looks.pop(id, None)) is not None:
            looking.cancel()

    async def carry_out_all(self, decision: Iterable[Intent], *, crash: bool) -> list[str]:
        """One after the other; what was not done, and why. A broker that its components were to leave is
        deleted when all of them have left, and stays otherwise (Mimosa Pudica §4.3, rule 3)."""
        reasons: list[str] = []
        moved: dict[str, bool] = {}
        for intent in decision:
            try:
                if isinstance(intent, Delete) and intent.broker in moved:
                    reason = await self._held(intent.broker, moved[intent.broker])
                else:
                    reason = ""
                reason = reason or await self.carry_out(intent, crash=crash)
            except RegraftError as fault:
                reason = str(fault)
            if isinstance(intent, Migrate):
                moved[intent.source] = moved.get(intent.source, True) and not reason
            if reason:
                reasons.append(reason)
        return reasons

    async def carry_out(self, intent: Intent, *, crash: bool) -> str:
        """Empty, or why it was not done. `crash`: because of one, so a broker that lives again stays."""
        match intent:
            case Delete():
                return await self._delete(intent.broker, crash)
            case Add():
                return await self._add(intent)
            case ShiftAway():
                return await self._shift(intent)
            case MoveClients():
                return await self._send_away(intent.broker, AWAY_SECONDS)
            case Migrate() | Clone():
                return await move_components(self._parts.coord, self._parts.layout, intent)

    async def _held(self, id: str, moved: bool) -> str:
        """Why this broker stays; empty if all of its components have left. One may have come meanwhile, or
        the event may have named only some of them."""
        if not moved:
            return f"{id} stays: its components could not leave"
        there = (await components_of(self._parts.coord, self._parts.layout)).get(id, ())
        return f"{id} stays: {', '.join(there)} has not left it" if there else ""

    # A broker that died

    async def _delete(self, id: str, crash: bool) -> str:
        topology = self._parts.topology
        if id == self._parts.id:
            return f"{id} leads, and does not remove itself"
        if topology is None or id not in topology.neighbours or id in self._parts.hosting.brokers:
            return ""
        reason = ""
        for _ in range(ATTEMPTS):
            seen = await self._look(id)
            if seen.owner is None:
                return f"{id} has never been there"
            owner = seen.owner.value
            evidence = Evidence.REFUSED
            if not self._refused(id, owner):
                evidence = await examine(self._parts.coord, self._parts.layout, id, owner)
            if not evidence.hard:
                return "" if owner.by or crash else await self._let_go(id)  # it, or its deputy, answers
            why = Why.PROCESS_GONE if evidence is Evidence.REFUSED else Why.VACANT
            hosted = await self._parts.hosting.begin(id, topology.neighbours[id], seen, why)
            if isinstance(hosted, Hosted):
                log.info("%s: is the deputy of %s, life %d", self._parts.id, id, hosted.owner.life)
                self._announce(hosted)
                if not crash:
                    self._parts.begin(retire(self._parts.coord, self._parts.layout, id))
                if seen.alive is not None:
                    self._parts.begin(self._bury(seen.alive.ephemeral_owner))
                self._deputy(hosted)
                return ""
            reason = hosted.reason
            await self._parts.coord.sync()
        return reason

    async def _let_go(self, id: str) -> str:
        settings = self._parts.settings
        reason = await claim(self._parts.coord, self._parts.layout, id, settings.removals, time.time())
        if not reason:
            await retire(self._parts.coord, self._parts.layout, id)
            self._leaving(id)
        return reason

    async def _bury(self, session: int) -> None:
        await asyncio.sleep(LATER_SECONDS)
        await bury(self._parts.coord, self._parts.layout, session)

    async def _look(self, id: str) -> Look:
        if (looking := self._looks.pop(id, None)) is not None:
            with contextlib.suppress(CoordError):
                return await looking
        return await look(self._parts.coord, self._parts.layout, id)

    def _announce(self, hosted: Hosted) -> None:
        """To the neighbours, which have to call it; they would see it in ZooKeeper a little later."""
        owner = hosted.owner
        self._parts.whereabouts.learn(hosted.id, owner)
        here = Here(
            broker=hosted.id,
            life=owner.life,
            host=owner.host,
            port=owner.port,
            by=owner.by,
            heal_host=owner.heal_host,
            heal_port=owner.heal_port,
        )
        nodes = {self._parts.whereabouts.node_of(id) for id in hosted.server.neighbours}
        for node in nodes - {self._parts.id}:
            self._parts.connections.send(node, here)

    # Plans

    async def _add(self, intent: Add) -> str:
        """Where the rule wants it; if that place is gone, beside whoever has fewest links."""

        def make(topology: Topology) -> Plan | None:
            if intent.broker in topology.neighbours:
                return None
            between = tuple(id for id in intent.between if id in topology.neighbours)
            if not between or isinstance(inserted(topology, Broker(intent.broker), between), Infeasible):
                living = [id for id in topology.ids if self._parts.whereabouts.node_of(id) == id]
                least = min(living or topology.ids, key=lambda id: (len(topology.neighbours[id]), id))
                between = (least,)
            return inserting(topology, intent.broker, between)

        parts = self._parts
        reason = await ask_to_start(parts.coord, parts.layout, intent.broker, intent.between)
        return reason or await self._repairs.carry_out(make, CAREFUL, PLAN_SECONDS)

    async def _shift(self, intent: ShiftAway) -> str:
        one, away, to = intent.neighbour, intent.broker, intent.to

        def make(topology: Topology) -> Plan | None:
            near = topology.neighbours.get(away, frozenset())
            return shifting(topology, one, away, to) if {one, to} <= near else None

        return await self._repairs.carry_out(make, CAREFUL, PLAN_SECONDS)
