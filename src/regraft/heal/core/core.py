"""The adaptation manager of one node (Mimosa Pudica §4.2): events in, effects out, time is an argument.

    detector, monitor, newcomers ──event──▶ grant of the database ──▶ election ──▶ the leader: rules ──▶ acts
                                                                                        │
                                             log of adaptations ◀── four phases ────────┘

No manager is central: each node notices what happens around its brokers, and one of those that a grant names
leads. A decision may be carried out twice; what is lost on the way is noticed again.

What it does step by step is written as coroutines that no event loop runs (`tasks`). The shell is
`regraft.node.healing`; the simulation in `regraft.testing` is another one.
"""

from collections.abc import Mapping
from random import Random

from regraft.heal.core import events
from regraft.heal.core.acting import LATER_SECONDS, Acting, ActingCallbacks
from regraft.heal.core.checking import Checking
from regraft.heal.core.effects import Effect, Follow, Joined, Judged, Left
from regraft.heal.core.judging import Judging
from regraft.heal.core.knowledge import HealingSettings, Knowledge, LocalBroker
from regraft.heal.core.leading import Leading
from regraft.heal.core.recording import Recording
from regraft.heal.core.repairs import Repairs
from regraft.heal.core.requests import Reinstate
from regraft.heal.core.tasks import Signal
from regraft.heal.core.tidying import Tidying
from regraft.heal.core.watching import WatchCallbacks, Watching
from regraft.heal.database.group import distances
from regraft.heal.detection import Suspect
from regraft.heal.monitor import Monitor, Sample
from regraft.heal.owner import Owner
from regraft.heal.wire import messages as wire
from regraft.model import BadInput, RegraftError, Topology
from regraft.model.facts import Event

NEARBY = 3
"""The owners of brokers within this many links are followed; groups seldom reach farther."""
JOIN_SECONDS = 3.0
ANSWER_SECONDS = 1.0


class Healing:
    """`handle` is told what happens and returns what is to be done; `next_due` says when `Tick` is due."""

    def __init__(
        self,
        settings: HealingSettings,
        own: LocalBroker,
        random: Random,
        topology: Topology | None = None,
        owners: Mapping[str, Owner] | None = None,
    ) -> None:
        """`topology` and `owners`: what was read before the node's own broker was begun."""
        known = Knowledge(settings, random, {settings.id: own}, topology, owners={**(owners or {})})
        self.known = known
        known.owners[settings.id] = own.owner
        known.moved = self._moved
        noticed = WatchCallbacks(self._suspected, self._trusted, self._doubted, self._expected)
        self.watching = Watching(known, noticed)
        self.repairs = Repairs(known)
        self.tidying = Tidying(known, self.repairs, self._removed)
        done = ActingCallbacks(self.watching.refused, self._deputy, self.tidying.add)
        self.acting = Acting(known, self.repairs, done)
        self.recording = Recording(known)
        self.judging = Judging(known, self.watching)
        self.leading = Leading(known, self.judging, self.acting, self.recording, self._settled, self._watch)
        self.checking = Checking(known, self.watching, self.judging, self.recording, self.leading.begin)
        self._monitor = Monitor(settings.id, settings.overload)
        self._joined: Signal[None] = Signal()
        self._left = False

    def start(self, now: float) -> list[Effect]:
        self.known.tasks.now = now
        self.watching.start()
        self.known.begin(self.tidying.run())
        self.known.begin(self._join())
        return self._effects(now)

    def handle(self, event: events.Event, now: float) -> list[Effect]:
        self.known.tasks.now = now
        match event:
            case events.Answered():
                self.known.tasks.answered(event.number, event.answer, None)
            case events.Failed():
                self.known.tasks.answered(event.number, None, event.fault)
            case events.Tick():
                self.watching.tick()
                self.leading.tick()
            case events.Heard() | events.Connected() | events.Disconnected():
                self._of_node(event)
            case events.LinksSeen():
                self._links(event.neighbours, event.busy)
            case events.OwnerSeen():
                self.known.learn(event.broker, event.owner)
            case events.TopologySeen():
                self.known.topology = event.topology
                self._topology_changed()
            case events.RulesSeen():
                self.known.rules = event.rules
            case events.Measured():
                self.known.begin(self._measured(event.sample))
            case events.Raised():
                self.known.begin(self._raised(event.number, event.event))
            case events.DeputyLost():
                self.known.here.pop(event.broker, None)
                self.tidying.drop(event.broker)
        return self._effects(now)

    def next_due(self) -> float | None:
        first = self.known.tasks.next_due()
        for due in (self.watching.next_due(), self.leading.next_due()):
            if due is not None and (first is None or due < first):
                first = due
        return first

    def _effects(self, now: float) -> list[Effect]:
        self.known.tasks.run(now)
        effects, self.known.effects = self.known.effects, []
        return effects

    # What others say

    def _of_node(self, event: events.Heard | events.Connected | events.Disconnected) -> None:
        match event:
            case events.Heard():
                self._heard(event.node, event.message)
            case events.Connected():
                self.known.connected.add(event.node)
                self.watching.up(event.node)
            case events.Disconnected():
                self.known.connected.discard(event.node)
                self.watching.down(event.node)

    def _heard(self, node: str, message: wire.Message) -> None:
        known = self.known
        match message:
            case wire.Ping():
                self.watching.ping(node, message)
            case wire.Pong():
                self.watching.pong(node, message)
            case wire.PackedBallot():
                try:
                    self.leading.heard(node, message)
                except BadInput as fault:
                    known.note(f"{node} says {fault}", warning=True)
            case wire.Cause():
                self.recording.caused(message)
            case wire.NewOwner():
                self._new_owner(message)
            case wire.CarriedOut():
                self.leading.is_done(message.election)
            case wire.AskReach():
                reached = self.watching.reaches(message.broker)
                known.tell(node, wire.Reach(number=message.number, reached=reached))
            case wire.AskJoin():
                refused = self.checking.join(message.broker, message.beside)
                known.tell(node, wire.Answer(number=message.number, refused=refused))
            case wire.SendAway():
                refused = self.acting.clients_leave(message.broker, message.seconds)
                known.tell(node, wire.Answer(number=message.number, refused=refused))
            case wire.Reach():
                known.answered(message.number, message.reached)
            case wire.Answer():
                known.answered(message.number, message.refused)

    def _new_owner(self, news: wire.NewOwner) -> None:
        self.known.learn(news.broker, news.owner)
        self.known.call(news.broker)

    # Owners, links and the overlay

    def _moved(self, id: str) -> None:
        """The broker has another owner. With a deputy it is served again, but it cannot vote."""
        self.known.call(id)
        self.watching.moved(id)
        self.acting.forget(id)
        self.checking.expect_no_more(id)
        if self.known.node_of(id) == id:
            self.leading.trust(id)

    def _links(self, neighbours: Mapping[str, frozenset[str]], busy: frozenset[str]) -> None:
        changed = False
        for id, here in self.known.here.items():
            near = neighbours.get(id, here.neighbours)
            changed |= near != here.neighbours
            here.neighbours = near
        if changed:
            self._watch()
        self.watching.seen(busy)

    def _topology_changed(self) -> None:
        known, topology = self.known, self.known.topology
        assert topology is not None
        if known.id in topology.neighbours:
            self._joined.give(None)
        elif self._joined.given and not self._left:
            self._left = True
            known.effects.append(Left())
        self._follow()
        self._watch()
        for suspicion in self.watching.detector.suspicions(known.now):
            if suspicion.evidence.hard:  # it may have died before we knew that it is in the overlay
                self.checking.gone(suspicion)

    def _follow(self) -> None:
        """Follows the owners of all brokers near those in this process."""
        known, topology = self.known, self.known.topology
        assert topology is not None
        near = {
            id
            for here in known.here
            if here in topology.neighbours
            for id, far in distances(topology.neighbours, here).items()
            if far <= NEARBY
        }
        known.effects.append(Follow(frozenset(near)))

    async def _join(self) -> None:
        """Asks other nodes to add us until we are in the overlay."""
        known = self.known
        await self.recording.broker(known.id)
        outside = not self._joined.given
        while not self._joined.given:
            await self._ask_to_join()
            await self._joined.within(JOIN_SECONDS)
        if outside:
            try:
                await Reinstate(known.id)
            except RegraftError as fault:
                known.note(f"the mark that it was out of service stays: {fault}", warning=True)
        known.effects.append(Joined())

    async def _ask_to_join(self) -> None:
        known = self.known
        if known.in_overlay(known.id):
            return  # the watch will show it
        nodes = [
            id
            for id, owner in sorted(known.owners.items())
            if id != known.id and not owner.by and known.in_overlay(id)
        ]
        beside = known.settings.beside
        for node in known.random.sample(nodes, len(nodes)):
            refused = await known.ask(
                node,
                lambda number: wire.AskJoin(number=number, broker=known.id, beside=beside),
                ANSWER_SECONDS,
            )
            if refused == "":
                return

    # What is noticed

    def _suspected(self, suspicion: Suspect) -> None:
        self.leading.suspect(suspicion.peer)
        if suspicion.evidence.hard:
            self.checking.gone(suspicion)

    def _trusted(self, id: str) -> None:
        self.leading.trust(id)
        self.acting.forget(id)
        self.checking.back(id)

    def _doubted(self, id: str) -> None:
        self.acting.expect(id)

    def _expected(self, id: str) -> None:
        self.checking.expect(id)

    def _settled(self, election: str) -> None:
        self.checking.settled(election)

    async def _measured(self, sample: Sample) -> None:
        load, noticed = self._monitor.take(sample, self.known.now)
        self.watching.own_load = load
        for event in noticed:
            await self.checking.happened(event)

    async def _raised(self, number: int, event: Event) -> None:
        await self._joined.within()
        self.known.note(f"{event.name} was raised")
        try:
            await self.checking.happened(event, asked=True)
        finally:
            self.known.effects.append(Judged(number))

    # What follows

    def _watch(self) -> None:
        self.watching.watch(self.leading.leaders)

    def _deputy(self, id: str) -> None:
        self.known.call(id)
        self._follow()
        self._watch()
        self.tidying.add(id)
        self.known.begin(self.recording.broker(id, LATER_SECONDS))

    def _removed(self, id: str) -> None:
        self.known.begin(self.recording.left(id))
        self._watch()
