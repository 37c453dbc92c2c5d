"""The rule interpreter of a leader: what is known, what the rules make of it, and whether a crash is one.

Before a broker is given up the leader looks itself. If it finds no hard evidence it asks the group: whoever
has a connection that works says so, and then it is the link of whoever suspected it (`detection.verdict`).
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from regraft.app.healing.component_moves import components_of
from regraft.app.healing.parts import Parts
from regraft.app.healing.watch import Watching, examine
from regraft.heal.detection import Evidence, verdict
from regraft.heal.election import Decision, Learned
from regraft.heal.grant import Grant
from regraft.heal.reaction import Reaction, react
from regraft.heal.wire import Cause
from regraft.model import RegraftError
from regraft.model.facts import Event, Facts, Removal
from regraft.model.intents import Delete, said

REACH_SECONDS = 0.05
COMPONENT_ACTIONS = ("goBroker", "cloneBroker")
EVENTS = {"delete": "deleteBrokerRequest", "add": "addBrokerRequest"}
Reaches = Callable[[str, str, float], Awaitable[bool]]
"""Member, broker, seconds → whether it says that it reaches it."""


class Judged(NamedTuple):
    """What is to be done, and why it is not more."""

    intents: Decision
    reason: str = ""


class Interpreter:
    def __init__(self, parts: Parts, watching: Watching) -> None:
        self._parts = parts
        self._watching = watching
        self._removals: list[Removal] = []

    async def decide(self, grant: Grant, cause: Cause | None, reaches: Reaches) -> Judged:
        event = cause.event if cause is not None else self._event_of(grant)
        if event is None or self._parts.topology is None:
            return Judged((), "nobody says what it is about")
        dead: frozenset[str] = frozenset()
        if grant.kind == "delete" and event.arguments.get("suspected"):
            found = await self._judge(grant, reaches)
            if found != "broker":
                return Judged((), found)
            dead = frozenset({grant.target})
        reaction = react(
            await self.facts((event,), dead), self._parts.databases.rules, self._parts.settings.removals
        )
        return Judged(reaction.intents, _reason(reaction))

    async def facts(self, events: tuple[Event, ...], dead: frozenset[str] = frozenset()) -> Facts:
        topology = self._parts.topology
        assert topology is not None
        owners = self._parts.whereabouts.owners
        away = {id for id, owner in owners.items() if owner.by} | self._watching.detector.suspected | dead
        loads = dict(self._watching.loads)
        if self._watching.own_load is not None:
            loads[self._parts.id] = self._watching.own_load
        now = asyncio.get_running_loop().time()
        window = self._parts.settings.removals.window
        self._removals = [each for each in self._removals if each.at > now - window]
        return Facts(
            overlay=topology,
            events=events,
            loads=loads,
            components=await self._components(events),
            dead=frozenset(away & topology.neighbours.keys()),
            removed=tuple(found for each in self._removals if (found := self._removal(each, away))),
            now=now,
        )

    def _removal(self, removal: Removal, away: set[str]) -> Removal | None:
        """One that died and has joined again still counts, but not as one that is missing. One that lived and
        is there was not removed after all, or not yet: ZooKeeper has the count of those (`removals`)."""
        topology = self._parts.topology
        there = topology is not None and removal.broker in topology.neighbours and removal.broker not in away
        if not there:
            return removal
        return None if removal.healthy else removal._replace(broker="")

    def learned(self, learned: Learned, *, crash: bool) -> None:
        """What was decided counts against the limits, whoever leads. `crash`: it was about one that died,
        which not every member watches."""
        now = asyncio.get_running_loop().time()
        for intent in learned.decision:
            if isinstance(intent, Delete):
                self._removals.append(Removal(now, intent.broker, healthy=not crash))

    async def _judge(self, grant: Grant, reaches: Reaches) -> str:
        """`broker`, or what it is instead."""
        owner = await self._parts.whereabouts.find(grant.target)
        if owner is None:
            return f"nobody knows where {grant.target} was"
        if self._watching.refused(grant.target, owner):
            return "broker"
        evidence = await examine(self._parts.coord, self._parts.layout, grant.target, owner)
        if evidence.hard:
            return "broker"
        if owner.by and evidence is Evidence.SILENT:
            return f"its deputy at {owner.by} runs"
        others = [id for id in grant.candidates if id != self._parts.id]
        answers = await asyncio.gather(*[reaches(id, grant.target, REACH_SECONDS) for id in others])
        reached = dict(zip(others, answers, strict=True))
        found = verdict(evidence, reached)
        if found == "link":
            who = ", ".join(id for id in others if reached[id])
            return f"the link has failed, not the broker: {who} reach it"
        return "it does not answer, but nothing shows that it is gone" if found == "unsure" else found

    async def _components(self, events: tuple[Event, ...]) -> dict[str, tuple[str, ...]]:
        """By broker, if a rule for one of these events moves any. Whoever carries it out looks again."""
        names = {event.name for event in events}
        if not any(
            call.action in COMPONENT_ACTIONS
            for each in self._parts.databases.rules.rules
            if each.rule.on.name in names
            for call in each.rule.do
        ):
            return {}
        with contextlib.suppress(RegraftError):
            return await components_of(self._parts.coord, self._parts.layout)
        return {}

    def _event_of(self, grant: Grant) -> Event | None:
        name = EVENTS.get(grant.kind)
        if name is None:
            return None
        return Event(name=name, broker=grant.target, arguments={"suspected": grant.kind == "delete"})


def _reason(reaction: Reaction) -> str:
    refused = [f"{said(each.intent)} is refused: {each.reason}" for each in reaction.refused]
    silent = [f"rule {each.rule} needs {each.missing}, which was not measured" for each in reaction.silent]
    nothing = [] if reaction.intents or refused or silent else ["no rule applies"]
    return "; ".join([*refused, *silent, *nothing])
