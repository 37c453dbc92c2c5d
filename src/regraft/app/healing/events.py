"""The event checker: what happens to this node and around it, and whom it asks about it (Mimosa Pudica §4.2).

A crash asks for a `delete`, a newcomer for an `add`; what the monitor sees is first judged by the rules
here: only if one of them would do something is a grant asked for. The leader judges again, with what it
knows.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regraft.app.healing.elections import Electing
from regraft.app.healing.facts import Interpreter
from regraft.app.healing.log import Log, record_of
from regraft.app.healing.parts import Parts
from regraft.app.healing.watch import Watching
from regraft.broker.io.inside import inside
from regraft.heal.database.client import Denied
from regraft.heal.detection import Suspect
from regraft.heal.grant import Grant, Request
from regraft.heal.monitor import Monitor, Sample, process_figures
from regraft.heal.reaction import react
from regraft.heal.wire import Cause
from regraft.model import RegraftError
from regraft.model.facts import Event
from regraft.model.intents import Add, Delete, Intent, MoveClients, ShiftAway

log = logging.getLogger("regraft.heal")
PATIENCE = 5.0
EARLY_SECONDS = 1.0
AGAIN_SECONDS, LONGEST_SECONDS = 0.1, 3.0
OVER_SECONDS = 1.5
"""Then an election has too few who answer."""
QUIET_SECONDS = 10.0
"""After an adaptation for what the monitor saw, for the same event."""


@dataclass(frozen=True)
class Wish:
    """What is to be adapted, and why. `lasting`: asked for until `still` says that it is done."""

    kind: str
    target: str
    event: Event
    what: str
    waited: float = 0.0
    still: Callable[[], bool] = lambda: True
    lasting: bool = False


class EventChecker:
    def __init__(
        self, parts: Parts, watching: Watching, electing: Electing, interpreter: Interpreter, log: Log
    ) -> None:
        self._parts = parts
        self._watching, self._electing = watching, electing
        self._interpreter, self._log = interpreter, log
        self._adapting: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._over: dict[str, asyncio.Event] = {}
        self._early: dict[str, asyncio.Task[Grant | Denied]] = {}
        """Grants that were asked for while the timer was running."""
        self._monitor = Monitor(parts.id, parts.settings.overload)
        self._quiet: dict[str, float] = {}
        """Until when, by the name of the event: relief for an overload does not hush a failure."""

    # Happenings

    def gone(self, suspicion: Suspect) -> None:
        """A broker around us has died."""
        id = suspicion.peer
        owner = self._parts.whereabouts.owners.get(id)
        topology = self._parts.topology
        if owner is None or topology is None or id not in topology.neighbours:
            return

        def still() -> bool:
            return self._parts.whereabouts.owners.get(id) == owner and self._in_overlay(id)

        event = Event(name="deleteBrokerRequest", broker=id, arguments={"suspected": True})
        words = {"REFUSED": "its process is gone", "GONE": "its session has ended"}
        what = f"{id} does not answer: {words.get(suspicion.evidence.name, suspicion.evidence.name)}"
        log.info("%s: %s", self._parts.id, what)
        self._begin(Wish("delete", id, event, what, suspicion.waited, still, lasting=True))

    def expect(self, id: str) -> None:
        """Its process is gone, and its timer still runs: find out meanwhile who would have to decide."""
        topology = self._parts.topology
        known = ("delete", id) in self._adapting and not self._adapting["delete", id].done()
        if topology is not None and id in topology.neighbours and id not in self._early and not known:
            self._early[id] = self._parts.begin(self._request("delete", id))
            asyncio.get_running_loop().call_later(EARLY_SECONDS, self._too_early, id, self._early[id])

    def _too_early(self, id: str, asking: "asyncio.Task[Grant | Denied]") -> None:
        if self._early.get(id) is asking:
            self.expect_no_more(id)

    def expect_no_more(self, id: str) -> None:
        """It was not suspected after all: others may need the grant."""
        if (asking := self._early.pop(id, None)) is not None:
            self._parts.begin(self._unused(asking))

    async def _unused(self, asking: "asyncio.Task[Grant | Denied]") -> None:
        with contextlib.suppress(RegraftError):
            grant = await asking
            if isinstance(grant, Grant):
                await self._log.give_back(grant)

    def back(self, id: str) -> None:
        """A broker that was suspected answers again."""
        self.expect_no_more(id)
        self._parts.begin(self.happened(Event(name="brokerRecovered", broker=id)))

    def join(self, id: str, beside: tuple[str, ...] = ()) -> str:
        """A broker outside wants to join, at best beside these; why it cannot."""
        topology = self._parts.topology
        if topology is None or self._parts.id not in topology.neighbours:
            return "this node is not in the overlay itself"
        if id in topology.neighbours:
            return ""
        living = topology.neighbours.keys() - self._watching.detector.suspected
        place = beside if beside and living >= set(beside) else (self._place(),)
        event = Event(name="addBrokerRequest", broker=id, brokers=place)
        outside = lambda: not self._in_overlay(id)  # noqa: E731
        self._begin(Wish("add", id, event, f"{id} wants to join", still=outside))
        return ""

    def _place(self) -> str:
        """Where a newcomer is least in the way: few links, then little load."""
        topology = self._parts.topology
        assert topology is not None
        loads = self._watching.loads
        suspected = self._watching.detector.suspected
        living = [
            id for id in topology.ids if self._parts.whereabouts.node_of(id) == id and id not in suspected
        ]

        def busy(id: str) -> tuple[int, float, str]:
            load = loads.get(id)
            return len(topology.neighbours[id]), load.cpu or 0.0 if load is not None else 0.5, id

        return min(living or topology.ids, key=busy)

    async def happened(self, event: Event, *, asked: bool = False) -> None:
        """An event for which there may be rules; `asked`: by somebody who need not be hushed."""
        if self._parts.topology is None or not self._in_overlay(self._parts.id):
            return
        rules = self._parts.databases.rules
        if not any(each.rule.on.name == event.name for each in rules.rules):
            return
        facts = await self._interpreter.facts((event,))
        reaction = react(facts, rules, self._parts.settings.removals)
        now = time.monotonic()
        if not reaction.intents or (now < self._quiet.get(event.name, 0.0) and not asked):
            return
        self._quiet[event.name] = now + QUIET_SECONDS
        kind = _kind(reaction.intents)
        what = f"{event.name} of {event.broker} ({', '.join(reaction.fired)})"
        self._begin(Wish(kind, event.broker, event, what))

    # Asking

    def _begin(self, wish: Wish) -> None:
        key = (wish.kind, wish.target)
        running = self._adapting.get(key)
        if running is None or running.done():
            self._adapting[key] = self._parts.begin(self._adapt(wish))

    async def _adapt(self, wish: Wish) -> None:
        pause = AGAIN_SECONDS
        while wish.still():
            try:
                over = await self._ask(wish)
            except RegraftError as fault:
                log.info("%s: no grant to %s %s: %s", self._parts.id, wish.kind, wish.target, fault)
                over = False
            if over and not wish.lasting:
                return
            await asyncio.sleep(pause)
            pause = min(LONGEST_SECONDS, 2 * pause)

    async def _ask(self, wish: Wish) -> bool:
        """Whether an election about it has come to its end."""
        asked = time.monotonic()
        early = self._early.pop(wish.target, None) if wish.kind == "delete" else None
        grant = await (early or self._request(wish.kind, wish.target))
        if isinstance(grant, Denied):
            log.info("%s: no grant to %s %s: %s", self._parts.id, wish.kind, wish.target, grant.reason)
            return False
        if not wish.still():
            await self._log.give_back(grant)
            return True
        cause = Cause(
            election=grant.id,
            cause=wish.what,
            event=wish.event,
            timeout_ms=1000 * wish.waited,
            vote_ms=1000 * (time.monotonic() - asked),
        )
        self._log.caused(cause)
        log.info("%s: has the grant %s after %.1f ms", self._parts.id, grant.id, cause.vote_ms)
        return await self._elected(grant, cause)

    async def _request(self, kind: str, target: str) -> Grant | Denied:
        deputies = {id for id, owner in self._parts.whereabouts.owners.items() if owner.by}
        suspects = tuple(sorted((self._watching.detector.suspected | deputies) - {target}))
        client = await self._parts.databases.client()
        request = Request(kind=kind, asker=self._parts.id, target=target, suspects=suspects)
        return await client.request(request, PATIENCE)

    async def _elected(self, grant: Grant, cause: Cause) -> bool:
        own = grant.member(self._parts.id)
        if own is not None and own.life != self._electing.core.life:
            log.warning("%s: the database knows of another life of ours", self._parts.id)
            self._parts.begin(self._log.record(record_of(self._parts.hosting.brokers[self._parts.id])))
            await self._log.give_back(grant)
            return False
        others = [each.id for each in grant.members if each.id not in (self._parts.id, *grant.suspects)]
        await asyncio.gather(*[self._parts.whereabouts.find(id) for id in others])
        for id in others:
            self._parts.connections.send(id, cause)
        over = self._over[grant.id] = asyncio.Event()
        self._electing.begin(grant)
        try:
            async with asyncio.timeout(OVER_SECONDS):
                await over.wait()
            return True
        except TimeoutError:
            await self._log.give_back(grant)  # the next one has a group that lives
            return False
        finally:
            self._over.pop(grant.id, None)

    def settled(self, election: str) -> None:
        if (over := self._over.get(election)) is not None:
            over.set()

    # The monitor

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._parts.settings.measured)
            load, events = self._monitor.take(self._sample(), time.monotonic())
            self._watching.own_load = load
            for event in events:
                await self.happened(event)

    def _sample(self) -> Sample:
        sample = process_figures()
        for hosted in self._parts.hosting.brokers.values():
            if hosted.server.core is None:
                continue
            seen, counters = inside(hosted.server.core), hosted.server.counters
            sample = sample._replace(
                queue=sample.queue + seen.held_bytes,
                clients=sample.clients + seen.clients,
                publications_in=sample.publications_in + counters.publications_in,
                messages_out=sample.messages_out + counters.messages_out,
            )
        return sample

    def _in_overlay(self, id: str) -> bool:
        return self._parts.topology is not None and id in self._parts.topology.neighbours


def _kind(intents: Sequence[Intent]) -> str:
    """By the first; but who is deleted does not lead, even if its components go before (rule 3)."""
    intent = intents[0]
    if any(isinstance(each, Delete) for each in intents):
        return "delete"
    if isinstance(intent, Add):
        return "add"
    return "shift" if isinstance(intent, ShiftAway | MoveClients) else "migrate"
