"""Which part of a database answers which question."""

import msgspec

from regraft.heal.database.holding import Holding
from regraft.heal.database.metadata import Metadata
from regraft.heal.database.protocol import (
    Answer,
    Ask,
    AskGrant,
    GetAdaptations,
    GetBrokers,
    GetDocument,
    GetRules,
    Keep,
    PutAdaptation,
    PutBroker,
    PutRules,
    Release,
    trouble,
)
from regraft.heal.database.replicas import Replicas
from regraft.heal.database.rule_sets import RuleSets
from regraft.heal.database.turns import Turns

MOST_ADAPTATIONS = 10_000


class Answers:
    """`patience`: seconds for a grant; `grace`: for a database that is away, before it counts as lost."""

    def __init__(self, replicas: Replicas, metadata: Metadata, patience: float, grace: float) -> None:
        self.turns = Turns(replicas, metadata, patience)
        self.holding = Holding(replicas, metadata, grace)
        self._rules = RuleSets(replicas, metadata)
        self._replicas = replicas

    async def to(self, number: int, ask: Ask) -> Answer:
        return msgspec.structs.replace(await self._answer(ask), number=number)

    async def _answer(self, ask: Ask) -> Answer:
        answer = Answer(number=0)
        match ask:
            case AskGrant():
                answer = await self.turns.grant(ask.request)
            case Release():
                await self.turns.release(ask.grant)
            case GetBrokers():
                answer = await self.holding.get(ask)
            case PutBroker():
                answer = await self.holding.put(ask.record)
            case Keep():
                if not await self._replicas.keep_all(ask):
                    answer = trouble("the store of this database does not answer")
            case GetDocument():
                data = await self._replicas.own_document(ask.name)
                answer = Answer(number=0, document=data.decode() if data is not None else None)
            case GetRules():
                answer = await self._rules.get(ask)
            case PutRules():
                answer = await self._rules.put(ask)
            case PutAdaptation():
                copies = await self._replicas.everywhere(Keep(adaptations=(ask.adaptation,)))
                answer = Answer(number=0, copies=copies) if copies else trouble("no database could store it")
            case GetAdaptations():
                found = await self._replicas.adaptations(min(ask.most, MOST_ADAPTATIONS), here=ask.here)
                answer = Answer(number=0, adaptations=found)
        return answer
