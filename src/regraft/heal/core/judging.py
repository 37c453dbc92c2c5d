"""The rule interpreter (Mimosa Pudica §4.2): collects facts, applies rules, finds out whether a broker has
crashed.

Before a broker is given up the leader examines it itself. If it finds no hard evidence it asks the group: if
a member has a working connection, only the link of the suspecting member has failed (`detection.verdict`).
"""

from typing import NamedTuple

from regraft.heal.core.knowledge import Knowledge
from regraft.heal.core.requests import Examine, FindOwner, ReadComponents
from regraft.heal.core.watching import Watching
from regraft.heal.detection import Evidence, verdict
from regraft.heal.election import Decision, Learned
from regraft.heal.grant import Grant
from regraft.heal.owner import Owner
from regraft.heal.reaction import Reaction, react
from regraft.heal.wire.messages import AskReach, Cause
from regraft.model import RegraftError
from regraft.model.facts import Event, Facts, Removal
from regraft.model.intents import Delete, describe

REACH_SECONDS = 0.05
COMPONENT_ACTIONS = ("goBroker", "cloneBroker")
EVENTS = {"delete": "deleteBrokerRequest", "add": "addBrokerRequest"}


class Judgement(NamedTuple):
    """What is to be done, and why no more than that."""

    intents: Decision
    reason: str = ""


class Judging:
    def __init__(self, known: Knowledge, watching: Watching) -> None:
        self._known = known
        self._watching = watching
        self._removals: list[Removal] = []

    async def decide(self, grant: Grant, cause: Cause | None) -> Judgement:
        """As the leader of the group of this grant."""
        event = cause.event if cause is not None else _event_of(grant)
        if event is None or self._known.topology is None:
            return Judgement((), "the cause is not known")
        dead: frozenset[str] = frozenset()
        if grant.kind == "delete" and event.arguments.get("suspected"):
            found = await self._judge(grant)
            if found != "broker":
                return Judgement((), found)
            dead = frozenset({grant.target})
        reaction = await self.react(event, dead)
        return Judgement(reaction.intents, _reason(reaction))

    async def react(self, event: Event, dead: frozenset[str] = frozenset()) -> Reaction:
        """What the rules ask for after this event."""
        facts = await self.facts((event,), dead)
        return react(facts, self._known.rules, self._known.settings.removals)

    async def facts(self, events: tuple[Event, ...], dead: frozenset[str] = frozenset()) -> Facts:
        known = self._known
        components = await self._components(events)
        topology = known.topology
        assert topology is not None
        deputies = {id for id, owner in known.owners.items() if owner.by}
        away = deputies | self._watching.detector.suspected | dead
        loads = dict(self._watching.loads)
        if self._watching.own_load is not None:
            loads[known.id] = self._watching.own_load
        window = known.settings.removals.window
        self._removals = [each for each in self._removals if each.at > known.now - window]
        return Facts(
            overlay=topology,
            events=events,
            loads=loads,
            components=components,
            dead=frozenset(away & topology.neighbours.keys()),
            removed=tuple(found for each in self._removals if (found := self._removal(each, away))),
            now=known.now,
        )

    def _removal(self, removal: Removal, away: set[str]) -> Removal | None:
        """How this removal counts now. A broker that died and has joined again still counts, but is not
        missing. One that lived and is still there was not removed, or not yet: ZooKeeper counts those
        (`Claim`)."""
        if not self._known.in_overlay(removal.broker) or removal.broker in away:
            return removal
        return None if removal.healthy else removal._replace(broker="")

    def learned(self, learned: Learned, *, crash: bool) -> None:
        """Decided removals count against the limits, whichever node leads. `crash`: the broker had died,
        which not every member notices."""
        for intent in learned.decision:
            if isinstance(intent, Delete):
                self._removals.append(Removal(self._known.now, intent.broker, healthy=not crash))

    # Whether it has died

    async def _judge(self, grant: Grant) -> str:
        """`broker` if it has crashed, otherwise what is wrong instead."""
        owner = await self.find(grant.target)
        if owner is None:
            return f"it is not known where {grant.target} was"
        if self._watching.refused(grant.target, owner):
            return "broker"
        evidence = await Examine(grant.target, owner)
        if evidence.hard:
            return "broker"
        if owner.by and evidence is Evidence.SILENT:
            return f"its deputy at {owner.by} runs"
        reached = await self._reached(grant)
        found = verdict(evidence, reached)
        if found == "link":
            who = ", ".join(id for id in reached if reached[id])
            return f"the link has failed, not the broker: {who} reach it"
        return "it does not answer, but nothing shows that it is gone" if found == "unsure" else found

    async def find(self, id: str) -> Owner | None:
        """The owner that is known, or can be read now."""
        if id not in self._known.owners:
            try:
                owner = await FindOwner(id)
            except RegraftError:
                return None
            if owner is not None:
                self._known.learn(id, owner)
        return self._known.owners.get(id)

    async def _reached(self, grant: Grant) -> dict[str, bool]:
        """Which other members say that they reach the broker."""
        reached: dict[str, bool] = {}

        async def ask(member: str) -> None:
            target = grant.target
            answer = await self._known.ask(
                member, lambda number: AskReach(number=number, broker=target), REACH_SECONDS
            )
            reached[member] = bool(answer)

        others = [id for id in grant.candidates if id != self._known.id]
        for task in [self._known.begin(ask(id)) for id in others]:
            await task.over.within()
        return {id: reached.get(id, False) for id in others}

    async def _components(self, events: tuple[Event, ...]) -> dict[str, tuple[str, ...]]:
        """The components of each broker, if a rule for one of these events moves any. They are read again
        later, when they move."""
        names = {event.name for event in events}
        if any(
            call.action in COMPONENT_ACTIONS
            for each in self._known.rules.rules
            if each.rule.on.name in names
            for call in each.rule.do
        ):
            try:
                return await ReadComponents()
            except RegraftError:
                pass
        return {}


def _event_of(grant: Grant) -> Event | None:
    name = EVENTS.get(grant.kind)
    if name is None:
        return None
    return Event(name=name, broker=grant.target, arguments={"suspected": grant.kind == "delete"})


def _reason(reaction: Reaction) -> str:
    refused = [f"{describe(each.intent)} is refused: {each.reason}" for each in reaction.refused]
    silent = [f"rule {each.rule} needs {each.missing}, which was not measured" for each in reaction.silent]
    nothing = [] if reaction.intents or refused or silent else ["no rule applies"]
    return "; ".join([*refused, *silent, *nothing])
