"""The event checker (Mimosa Pudica §4.2): asks for an adaptation when something happens at or around this
node.

After a crash it asks for a `delete`, for a newcomer for an `add`. What the monitor notices is first judged by
the rules here: only if one of them would do something is a grant asked for. The leader judges again, with
what it knows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from regraft.heal.core.judging import Judging
from regraft.heal.core.knowledge import Knowledge
from regraft.heal.core.recording import Recording
from regraft.heal.core.requests import AskGrant
from regraft.heal.core.states import WISHES, WishState
from regraft.heal.core.tasks import Signal, Task, sleep
from regraft.heal.core.watching import Watching
from regraft.heal.detection import Suspect
from regraft.heal.grant import Denied, Grant, GrantRequest
from regraft.heal.wire.messages import Cause
from regraft.model import RegraftError
from regraft.model.facts import Event
from regraft.model.intents import Add, Delete, Intent, MoveClients, ShiftAway
from regraft.model.transitions import Machine

EARLY_SECONDS = 1.0
AGAIN_SECONDS, LONGEST_SECONDS = 0.1, 3.0
OVER_SECONDS = 1.5
"""After this time, too few members of an election have answered."""
IGNORED_SECONDS = 10.0
"""After an adaptation, the same event of the monitor causes no other for this time."""


@dataclass
class Wish:
    """A request for an adaptation, and its cause. `lasting`: repeated while `still` says that it is
    needed."""

    kind: str
    target: str
    event: Event
    what: str
    waited: float = 0.0
    still: Callable[[], bool] = lambda: True
    lasting: bool = False
    withdrawn: bool = False
    """The broker answers again: no decision is needed any more."""
    silent: frozenset[str] = frozenset()
    """Members of the last group that could not be reached: the next group should not depend on them."""
    first: Task[Grant | Denied] | None = None
    """The request that was made while the timer was running."""
    machine: Machine[WishState] = field(init=False)

    def take_over(self, later: "Wish") -> None:
        """Continues with the cause and the conditions of a later request for the same."""
        self.event, self.what, self.waited = later.event, later.what, later.waited
        self.still, self.lasting, self.withdrawn = later.still, later.lasting, False

    def holds(self) -> bool:
        return not self.withdrawn and self.still()

    def __post_init__(self) -> None:
        self.machine = Machine(WISHES, WishState.ASKING, f"the wish to {self.kind} {self.target}")


@dataclass
class Expected:
    """A broker whose process is gone and whose timer still runs: the grant is requested in advance."""

    asking: Task[Grant | Denied]
    machine: Machine[WishState]


class Checking:
    """`elect` begins the election of a group; `settled` is to be called when one has come to its end."""

    def __init__(
        self,
        known: Knowledge,
        watching: Watching,
        judging: Judging,
        recording: Recording,
        elect: Callable[[Grant], None],
    ) -> None:
        self.wishes: dict[tuple[str, str], Wish] = {}
        self._known = known
        self._watching, self._judging, self._recording = watching, judging, recording
        self._elect = elect
        self._over: dict[str, Signal[bool]] = {}
        self._expected: dict[str, Expected] = {}
        self._ignored_until: dict[str, float] = {}
        """By the name of the event: an adaptation for an overload must not hide a failure."""

    # What happens

    def gone(self, suspicion: Suspect) -> None:
        """A broker around us has died."""
        known, id = self._known, suspicion.peer
        owner = known.owners.get(id)
        if owner is None or not known.in_overlay(id):
            return

        def still() -> bool:
            return known.owners.get(id) == owner and known.in_overlay(id)

        event = Event(name="deleteBrokerRequest", broker=id, arguments={"suspected": True})
        words = {"REFUSED": "its process is gone", "GONE": "its session has ended"}
        what = f"{id} does not answer: {words.get(suspicion.evidence.name, suspicion.evidence.name)}"
        wish = Wish("delete", id, event, what, suspicion.waited, still, lasting=True)
        if (before := self.wishes.get(("delete", id))) is None:
            self._begin(wish)
        else:  # it may be about an earlier life of the broker, and about to end
            before.take_over(wish)

    def expect(self, id: str) -> None:
        """Its process is gone, and its timer still runs: requests the grant in advance."""
        if self._known.in_overlay(id) and id not in self._expected and ("delete", id) not in self.wishes:
            machine = Machine(WISHES, WishState.EXPECTED, f"the wish to delete {id}")
            expected = Expected(self._known.begin(self._request("delete", id)), machine)
            self._expected[id] = expected
            self._known.tasks.after(EARLY_SECONDS, lambda: self._too_early(id, expected))

    def _too_early(self, id: str, expected: Expected) -> None:
        if self._expected.get(id) is expected:
            self.expect_no_more(id)

    def expect_no_more(self, id: str) -> None:
        """It was not suspected after all: gives the grant back, which others may need."""
        if (expected := self._expected.pop(id, None)) is not None:
            expected.machine.become(WishState.OVER)
            self._known.begin(self._unused(expected.asking))

    async def _unused(self, asking: Task[Grant | Denied]) -> None:
        grant = await asking.over.within()
        if isinstance(grant, Grant):
            await self._recording.give_back(grant)

    def back(self, id: str) -> None:
        """A broker that was suspected answers again."""
        self.expect_no_more(id)
        wish = self.wishes.get(("delete", id))
        if wish is not None and wish.lasting:
            wish.withdrawn = True
        self._known.begin(self.happened(Event(name="brokerRecovered", broker=id)))

    def join(self, id: str, beside: tuple[str, ...] = ()) -> str:
        """A broker outside the overlay wants to join, at best beside these; returns why it cannot."""
        known, topology = self._known, self._known.topology
        if topology is None or known.id not in topology.neighbours:
            return "this node is not in the overlay itself"
        if id in topology.neighbours:
            return ""
        living = topology.neighbours.keys() - self._watching.detector.suspected
        place = beside if beside and living >= set(beside) else (self.place(),)
        event = Event(name="addBrokerRequest", broker=id, brokers=place)
        outside = lambda: not known.in_overlay(id)  # noqa: E731
        self._begin(Wish("add", id, event, f"{id} wants to join", still=outside))
        return ""

    def place(self) -> str:
        """The best place for a newcomer: few links, then little load."""
        known, topology, loads = self._known, self._known.topology, self._watching.loads
        assert topology is not None
        suspected = self._watching.detector.suspected
        living = [id for id in topology.ids if known.node_of(id) == id and id not in suspected]

        def busy(id: str) -> tuple[int, float, str]:
            load = loads.get(id)
            return len(topology.neighbours[id]), load.cpu or 0.0 if load is not None else 0.5, id

        return min(living or topology.ids, key=busy)

    async def happened(self, event: Event, *, asked: bool = False) -> None:
        """An event for which there may be rules; `asked`: a person or a program has raised it, so it is never
        ignored."""
        known = self._known
        if not known.in_overlay(known.id):
            return
        if not any(each.rule.on.name == event.name for each in known.rules.rules):
            return
        reaction = await self._judging.react(event)
        if not reaction.intents or (known.now < self._ignored_until.get(event.name, 0.0) and not asked):
            return
        self._ignored_until[event.name] = known.now + IGNORED_SECONDS
        what = f"{event.name} of {event.broker} ({', '.join(reaction.fired)})"
        self._begin(Wish(_kind(reaction.intents), event.broker, event, what))

    # Asking

    def _begin(self, wish: Wish) -> None:
        key = (wish.kind, wish.target)
        if key not in self.wishes:
            self.wishes[key] = wish
            expected = self._expected.pop(wish.target, None) if wish.kind == "delete" else None
            if expected is not None:
                expected.machine.become(WishState.ASKING)
                wish.machine, wish.first = expected.machine, expected.asking
            self._known.note(wish.what)
            self._known.begin(self._adapt(wish))

    async def _adapt(self, wish: Wish) -> None:
        pause = AGAIN_SECONDS
        try:
            while wish.holds():
                over = await self._ask(wish)
                if over and not wish.lasting:
                    break
                wish.machine.become(WishState.PAUSED)
                await sleep(pause)
                pause = min(LONGEST_SECONDS, 2 * pause)
                if wish.holds():
                    wish.machine.become(WishState.ASKING)
            wish.machine.become(WishState.OVER)
        finally:
            del self.wishes[wish.kind, wish.target]
            if wish.first is not None:  # the grant was not needed
                self._known.begin(self._unused(wish.first))

    async def _ask(self, wish: Wish) -> bool:
        """Whether an election about it has come to its end."""
        asked = self._known.now
        first, wish.first = wish.first, None
        if first is not None:
            grant = await first.over.within()
        else:
            grant = await self._request(wish.kind, wish.target, wish.silent)
        if not isinstance(grant, Grant):
            reason = grant.reason if grant is not None else "no database has answered"
            self._known.note(f"no grant to {wish.kind} {wish.target}: {reason}")
            wish.silent = frozenset()  # some of them may have been slow
            return False
        if not wish.holds():
            await self._recording.give_back(grant)
            return True
        vote_ms = 1000 * (self._known.now - asked)
        cause = Cause(
            election=grant.id,
            cause=wish.what,
            event=wish.event,
            timeout_ms=1000 * wish.waited,
            vote_ms=vote_ms,
        )
        self._recording.caused(cause)
        self._known.note(f"has the grant {grant.id} after {vote_ms:.1f} ms")
        wish.machine.become(WishState.ELECTING)
        return await self._elected(wish, grant, cause)

    async def _request(self, kind: str, target: str, silent: frozenset[str] = frozenset()) -> Grant | Denied:
        deputies = {id for id, owner in self._known.owners.items() if owner.by}
        suspects = tuple(sorted((self._watching.detector.suspected | deputies | silent) - {target}))
        try:
            return await AskGrant(
                GrantRequest(kind=kind, asker=self._known.id, target=target, suspects=suspects)
            )
        except RegraftError as fault:
            return Denied(str(fault))

    async def _elected(self, wish: Wish, grant: Grant, cause: Cause) -> bool:
        known = self._known
        own = grant.member(known.id)
        if own is not None and own.life != known.settings.life:
            known.note("the database knows of another life of ours", warning=True)
            known.begin(self._recording.broker(known.id))
            await self._recording.give_back(grant)
            return False
        others = [each.id for each in grant.members if each.id not in (known.id, *grant.suspects)]
        for finding in [known.begin(self._judging.find(id)) for id in others]:
            await finding.over.within()
        for id in others:
            known.tell(id, cause)
        over: Signal[bool] = Signal()
        self._over[grant.id] = over
        self._elect(grant)
        try:
            if await over.within(OVER_SECONDS):
                return True
        finally:
            self._over.pop(grant.id, None)
        wish.silent = frozenset(others) - known.connected
        await self._recording.give_back(grant)  # the next grant has a group of living members
        return False

    def settled(self, election: str) -> None:
        if (over := self._over.get(election)) is not None:
            over.give(True)


def _kind(intents: Sequence[Intent]) -> str:
    """That of the first Intent; but `delete` if a broker is deleted later (rule 3), because it must not
    lead."""
    intent = intents[0]
    if any(isinstance(each, Delete) for each in intents):
        return "delete"
    if isinstance(intent, Add):
        return "add"
    return "shift" if isinstance(intent, ShiftAway | MoveClients) else "migrate"
