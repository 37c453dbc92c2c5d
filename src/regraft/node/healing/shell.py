"""The shell around the core of healing (`heal.core`): tells it what happens, and carries its effects out.

An event is handled to its end in the callback that brought it: a crash does not wait for another round of the
event loop. Events that come while effects are carried out wait in a queue, since the core must not be called
while it works.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AsyncExitStack
from random import Random
from typing import Any

from regraft.coord import Coord, Corrupt
from regraft.coord.typed import watch
from regraft.deploy.journal import topology_of
from regraft.deploy.records import Current
from regraft.heal.core import Healing, LocalBroker, effects, events
from regraft.heal.owner import Owner
from regraft.heal.raised import raised
from regraft.heal.rules import Checked
from regraft.heal.wire.connections import Connections
from regraft.heal.wire.messages import Hello, Message, NewOwner
from regraft.model import Topology
from regraft.node.healing.answering import RequestHandlers, RequestTasks
from regraft.node.healing.databases import Databases
from regraft.node.healing.gauges import Gauges
from regraft.node.healing.hosting import Hosted, Hosting
from regraft.node.healing.settings import NodeSettings
from regraft.node.healing.whereabouts import Whereabouts
from regraft.wire.identity import accepting, dialling

log = logging.getLogger("regraft.heal")
EARLY_MESSAGES = 100
"""Messages that are kept until our own broker runs."""
EARLY_SECONDS = 0.002


class HealingShell:
    """`async with HealingShell(settings, coord, joined, ended) as shell`; it heals from `start` on.

    `joined` is called when the node's own broker is in the overlay, `ended` with why the node has to stop.
    """

    hosting: Hosting

    def __init__(
        self,
        settings: NodeSettings,
        coord: Coord,
        joined: Callable[[], None],
        ended: Callable[[str], None],
    ) -> None:
        self.settings = settings
        self.coord = coord
        self.core: Healing | None = None
        """None before the start, and again when the node has to stop: nothing is decided here then."""
        self.whereabouts = Whereabouts(coord, settings.layout, self._owner_seen)
        self._joined, self._ended = joined, ended
        tls = settings.broker.tls
        self._connections = Connections(
            Hello(id=settings.id, life=0, token=settings.token),
            self.whereabouts.manager,
            self._heard,
            lambda node: self.tell(events.Connected(node)),
            lambda node: self.tell(events.Disconnected(node)),
            accepting=accepting(tls) if tls is not None else None,
            dialling=dialling(tls) if tls is not None else None,
        )
        self._databases = Databases(coord, settings.layout, settings.region, self._rules_seen)
        self._loop = asyncio.get_running_loop()
        self._stack = AsyncExitStack()
        self._tasks: set[asyncio.Task[None]] = set()
        self._early: deque[events.Heard] = deque(maxlen=EARLY_MESSAGES)
        self._events: deque[events.Event] = deque()
        self._at_work = False
        self._timer: asyncio.Handle | None = None
        self._due: float | None = None
        """When the timer ends."""
        self._latest = 0.0
        """The latest time that the core was given."""
        self._judged: dict[int, asyncio.Future[None]] = {}
        self._is_in_overlay = asyncio.Event()

    async def __aenter__(self) -> "HealingShell":
        settings, stack = self.settings, self._stack
        try:
            await stack.enter_async_context(self._databases)
            heal = await self._connections.listen(settings.broker.host, settings.heal_port)
            stack.push_async_callback(self._connections.stop)
            self.hosting = Hosting(settings, self.coord, self.whereabouts.addresses, heal, self._deposed)
            self._gauges = Gauges(self.hosting.brokers)
            handlers = RequestHandlers(settings, self.coord, self.hosting, self.whereabouts, self._databases)
            self._requests = RequestTasks(handlers.answer, self.tell)
            # The stack ends these in reverse: first what may still use the brokers, the connections last.
            stack.push_async_callback(self._end_brokers)
            stack.push_async_callback(self.whereabouts.stop)
            stack.push_async_callback(self._requests.stop)
            stack.push_async_callback(self._end_tasks)
        except BaseException:
            await stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._be_silent()
        await self._stack.aclose()

    def start(self, own: Hosted, topology: Topology) -> None:
        """Our own broker runs, and this is the topology that it was begun with."""
        self.whereabouts.learn(own.id, own.owner)
        here = LocalBroker(own.owner, self._gauges.neighbours().get(own.id, frozenset()))
        settings = self.settings.healing(own.owner.life)
        core = Healing(settings, here, Random(), topology, self.whereabouts.owners)
        self._events += [
            events.RulesSeen(self._databases.rules),
            *(events.Connected(node) for node in self._connections.peers),
            *self._early,
        ]
        self.core = core
        self._work(core.start(self._now()))
        for work in (self._follow_topology(), self._follow_raised(), self._look_at_links(), self._measure()):
            self.begin(work)

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs this in the background; it ends with the node."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            log.error("%s: a task has ended: %r", self.settings.id, fault, exc_info=fault)

    # Events and effects

    def tell(self, event: events.Event) -> None:
        if self.core is not None:
            self._events.append(event)
            self._work()

    def _work(self, first: Iterable[effects.Effect] = ()) -> None:
        if self._at_work:
            return
        self._at_work = True
        try:
            self._carry_out(first)
            while self._events and self.core is not None:
                self._carry_out(self._handled(self.core, self._events.popleft()))
        finally:
            self._at_work = False
        self._schedule()

    def _handled(self, core: Healing, event: events.Event) -> list[effects.Effect]:
        try:
            return core.handle(event, self._now())
        except Exception:
            log.exception("%s: %s cannot be handled", self.settings.id, event)
            return []

    def _schedule(self) -> None:
        due = self.core.next_due() if self.core is not None else None
        if due != self._due:
            if self._timer is not None:
                self._timer.cancel()
            left = due - time.monotonic() if due is not None else 0.0
            self._timer = self._loop.call_later(max(0.0, left), self._tick) if due is not None else None
            self._due = due

    def _tick(self) -> None:
        """Some event loops call up to a millisecond early: a timer that is so nearly due counts as due."""
        due, self._timer, self._due = self._due, None, None
        if due is not None and due - time.monotonic() < EARLY_SECONDS:
            self._latest = max(self._latest, due)
        self.tell(events.Tick())

    def _now(self) -> float:
        """The time of the core. (The event loop's is that of its last round, in whole milliseconds.)"""
        self._latest = max(self._latest, time.monotonic())
        return self._latest

    def _be_silent(self) -> None:
        """Stops the core: what happens from here on is caused by our own end, or does not matter any more."""
        self.core = None
        self._events.clear()
        self._schedule()

    def _carry_out(self, wanted: Iterable[effects.Effect]) -> None:
        for effect in wanted:
            try:
                self._do(effect)
            except Exception:
                log.exception("%s: %s cannot be done", self.settings.id, effect)

    def _do(self, effect: effects.Effect) -> None:
        match effect:
            case effects.Tell():
                self._connections.send(effect.node, effect.message)
            case effects.KeepConnection():
                self._connections.keep(effect.node)
            case effects.DropConnection():
                self._connections.drop(effect.node)
            case effects.Follow():
                self.whereabouts.follow(effect.brokers)
            case effects.Do():
                self._requests.begin(effect.number, effect.request)
            case effects.Forget():
                self._requests.forget(effect.number)
            case effects.DialBroker() | effects.SendClientsAway():
                self._use_brokers(effect)
            case _:
                self._report(effect)

    def _use_brokers(self, effect: effects.DialBroker | effects.SendClientsAway) -> None:
        running = {id: each for id, each in self.hosting.brokers.items() if each.server.core is not None}
        match effect:
            case effects.DialBroker():
                for hosted in running.values():
                    if not hosted.ended:
                        hosted.server.call(effect.broker)
            case effects.SendClientsAway() if effect.broker in running:
                running[effect.broker].server.send_away(effect.seconds)

    def _report(
        self, effect: effects.Judged | effects.Joined | effects.Left | effects.Note | effects.Broken
    ) -> None:
        match effect:
            case effects.Judged():
                self._judged.pop(effect.number).set_result(None)
            case effects.Joined():
                self._is_in_overlay.set()
                self._joined()
            case effects.Left():
                self._ended("its broker has left the overlay")
            case effects.Note():
                log.log(logging.WARNING if effect.warning else logging.INFO, effect.text)
            case effects.Broken():
                log.error("%s: a step of healing has failed", self.settings.id, exc_info=effect.fault)

    # What happens

    def _heard(self, node: str, message: Message) -> None:
        if isinstance(message, NewOwner):
            self.whereabouts.learn(message.broker, message.owner)
        if self.core is None:
            self._early.append(events.Heard(node, message))
        self.tell(events.Heard(node, message))

    def _owner_seen(self, id: str, owner: Owner) -> None:
        self.tell(events.OwnerSeen(id, owner))

    def _rules_seen(self, rules: Checked) -> None:
        self.tell(events.RulesSeen(rules))

    def _deposed(self, id: str, reason: str) -> None:
        if id == self.settings.id:
            self._be_silent()
            self._ended(reason)
        elif self.core is not None:
            self.tell(events.DeputyLost(id))
            self.begin(self.hosting.end(id))

    async def _follow_topology(self) -> None:
        async for stored in watch(self.coord, self.settings.layout.topology, Current):
            if stored is not None and not isinstance(stored, Corrupt):
                self.tell(events.TopologySeen(topology_of(stored.value)))

    async def _follow_raised(self) -> None:
        """Begins when we are in the overlay: until then, an event may still be withdrawn."""
        await self._is_in_overlay.wait()
        number = 0
        async for event in raised(self.coord, self.settings.layout, self.settings.id):
            number += 1
            judged = self._judged[number] = self._loop.create_future()
            self.tell(events.Raised(number, event))
            await judged

    async def _look_at_links(self) -> None:
        while True:
            await asyncio.sleep(events.LINKS_SECONDS)
            self.tell(events.LinksSeen(self._gauges.neighbours(), self._gauges.busy()))

    async def _measure(self) -> None:
        while True:
            await asyncio.sleep(self.settings.measured)
            self.tell(events.Measured(self._gauges.sample()))

    # The end

    async def _end_tasks(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _end_brokers(self) -> None:
        for id in list(self.hosting.brokers):
            await self.hosting.end(id)
