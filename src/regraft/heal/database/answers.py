"""What a database answers to each question; what is to be decided is pure: `grants`, `group`, `placement`."""

import asyncio
from functools import partial

import msgspec

from regraft.heal.database import grants
from regraft.heal.database.grants import Queue
from regraft.heal.database.group import concerned, grant_of
from regraft.heal.database.metadata import Grants, Head, Metadata, Placement
from regraft.heal.database.placement import REPLICAS, lacking, placed
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
)
from regraft.heal.database.records import (
    BrokerRecord,
    Garbled,
    Map,
    RuleSet,
    RuleText,
    checked,
    decoded,
    digest,
    encoded,
)
from regraft.heal.database.replicas import Replicas
from regraft.heal.grant import Grant, Request
from regraft.heal.rules import check, parse
from regraft.model import BadInput

TURN_SECONDS = 0.5
"""A request that has to wait is answered after so long: its asker asks again, here or elsewhere."""
MOST_RULES_WAIT = 30.0


class Answers:
    """`patience`: seconds for a grant; `grace`: for a database that is away, before it counts as lost."""

    def __init__(self, replicas: Replicas, metadata: Metadata, patience: float, grace: float) -> None:
        self._replicas = replicas
        self._metadata = metadata
        self._patience = patience
        self._grace = grace
        self._seen: dict[str, float] = {}
        self._missed: dict[str, float] = {}

    async def to(self, number: int, ask: Ask) -> Answer:
        match ask:
            case AskGrant():
                answer = await self._grant(ask.request)
            case Release():
                await self._metadata.change(self._metadata.grants, lambda kept: _released(kept, ask.grant))
                answer = Answer(number=number)
            case GetBrokers():
                answer = await self._brokers(ask)
            case PutBroker():
                answer = await self._put_broker(ask.record)
            case Keep():
                kept = await self._replicas.keep_all(ask)
                answer = Answer(number=number) if kept else _trouble("its store does not answer")
            case GetDocument():
                data = await self._replicas.document(ask.name) if ask.name.startswith("rules:") else None
                answer = Answer(number=number, document=data.decode() if data is not None else None)
            case GetRules():
                answer = await self._rules(ask)
            case PutRules():
                answer = await self._put_rules(ask)
            case PutAdaptation():
                copies = await self._replicas.everywhere(Keep(adaptations=(ask.adaptation,)))
                answer = Answer(number=number, copies=copies) if copies else _trouble("nobody could store it")
            case GetAdaptations():
                found = await self._replicas.adaptations(min(ask.most, 10_000), here=ask.here)
                answer = Answer(number=number, adaptations=found)
        return msgspec.structs.replace(answer, number=number)

    # Grants

    async def _grant(self, request: Request) -> Answer:
        map = self._metadata.map
        if map is None:
            return _trouble("there is no topology: no overlay has been started here")
        ids = concerned(map, request)
        if isinstance(ids, str):
            return Answer(number=0, refused=ids)
        records = await self._replicas.brokers(ids)
        own: list[str] = []

        def queued(kept: Grants) -> Grants | None:
            """In the queue; and, if it is its turn already, with the group: one write in all."""
            found = grants.requested(kept.queue, request, ids)
            own[:] = [found[1]] if found else []
            if found is None:
                return None
            queue = found[0]
            if grants.before(queue, own[0]) is None:
                group = grant_of(own[0], map, request, records)
                queue = grants.granted(queue, own[0], group) if isinstance(group, Grant) else queue
            return Grants(queue=queue)

        kept = await self._metadata.change(self._metadata.grants, queued)
        if not own:
            return _trouble(f"{grants.MOST_WAITING} requests are waiting already")
        entry = grants.entry_of(kept.queue, own[0])
        if entry is not None and entry.grant is not None:
            return Answer(number=0, grant=entry.grant)
        return await self._turn(own[0])

    async def _turn(self, id: str) -> Answer:
        """Until its turn comes; the group is that of the moment."""
        deadline = asyncio.get_running_loop().time() + TURN_SECONDS
        while (entry := grants.entry_of(self._queue, id)) is not None:
            if entry.grant is not None:
                return Answer(number=0, grant=entry.grant)
            ahead = grants.before(self._queue, id)
            if ahead is not None:
                if not await self._news(deadline):
                    return _trouble(f"waits for {ahead.id}")
                continue
            group = await self._group(id, entry.request)
            if isinstance(group, str):
                await self._metadata.change(self._metadata.grants, lambda kept: _released(kept, id))
                return Answer(number=0, refused=group)
            await self._metadata.change(self._metadata.grants, partial(_granted, id=id, grant=group))
        return _trouble("it was given up while it waited")

    async def _group(self, id: str, request: Request) -> Grant | str:
        map = self._metadata.map or Map()
        ids = concerned(map, request)
        return ids if isinstance(ids, str) else grant_of(id, map, request, await self._replicas.brokers(ids))

    @property
    def _queue(self) -> Queue:
        kept = self._metadata.grants.value
        return kept.queue if kept else Queue()

    async def _news(self, deadline: float) -> bool:
        try:
            async with asyncio.timeout_at(deadline), self._metadata.changed:
                await self._metadata.changed.wait()
        except TimeoutError:
            return False
        return True

    async def expire(self) -> None:
        """Who got a grant and died with it holds the others up only for so long."""
        now = asyncio.get_running_loop().time()
        self._seen = grants.observed(self._queue, self._seen, now)
        for id in grants.overdue(self._queue, self._seen, now, self._patience):
            self._metadata.note(f"the grant {id} was not given back in {self._patience:g} s")
            await self._metadata.change(self._metadata.grants, partial(_released, id=id))

    # Brokers

    async def _brokers(self, ask: GetBrokers) -> Answer:
        if ask.here:
            return Answer(number=0, brokers=tuple((await self._replicas.own(ask.ids)).values()))
        if not ask.ids:
            await self._metadata.refresh(self._metadata.placement)
        ids = ask.ids or tuple(self._replicas.holders)
        return Answer(number=0, brokers=tuple((await self._replicas.brokers(ids)).values()))

    async def _put_broker(self, record: BrokerRecord) -> Answer:
        try:
            checked(record, record.id, "put")
        except Garbled as fault:
            return Answer(number=0, refused=str(fault))
        if not record.id:
            return Answer(number=0, refused="a broker has an id")
        failed: set[str] = set()
        have: set[str] = set()
        before = (await self._replicas.brokers((record.id,))).get(record.id)
        version = max(record.version, before.version if before else 0) + 1
        record = msgspec.structs.replace(record, version=version, writer=self._replicas.me)
        while len(have) < REPLICAS:
            living = {id: at.region for id, at in self._metadata.alive.items() if id not in failed}
            holders = await self._place(record, living)
            have = await self._replicas.spread(record)
            if not holders - have - failed:
                break
            failed |= holders - have
        if not have:
            return _trouble("nobody could store it")
        return Answer(number=0, brokers=(record,), copies=len(have))

    async def _place(self, record: BrokerRecord, living: dict[str, str]) -> set[str]:
        """At two databases that live, if there are so many; who holds it then."""

        def step(kept: Placement) -> Placement:
            holders = placed({record.id: record.region}, living, kept.holders) if living else {}
            regions = {**kept.regions, record.id: record.region}
            return Placement(holders={**kept.holders, **holders}, regions=regions)

        kept = self._metadata.placement.value
        if kept is None or step(kept) != kept:
            kept = await self._metadata.change(self._metadata.placement, step)
        return set(kept.holders.get(record.id, ()))

    async def mend(self) -> None:
        """What has too few copies is copied to another; the living database with the lowest id does that."""
        now = asyncio.get_running_loop().time()
        alive = self._metadata.alive
        held = {each for holders in self._replicas.holders.values() for each in holders}
        self._missed = {each: self._missed.get(each, now) for each in held - alive.keys()}
        if self._replicas.me != min(alive, default=""):
            return
        lost = {each for each, since in self._missed.items() if now - since > self._grace}
        short = [id for id, holders in self._replicas.holders.items() if _too_few(holders, lost, len(alive))]
        if short:
            await self._copy(short)

    async def _copy(self, ids: list[str]) -> None:
        """Records first, then the placement: who is asked for a record has it."""
        kept = self._metadata.placement.value or Placement()
        before = {id: kept.holders[id] for id in ids}
        living = {id: here.region for id, here in self._metadata.alive.items()}
        moved = placed({id: kept.regions.get(id, "") for id in ids}, living, kept.holders)
        for database, some in lacking(before, moved).items():
            records = await self._replicas.brokers(some)
            keep = Keep(brokers=tuple(records.values()))
            if database == self._replicas.me:
                await self._replicas.keep_all(keep)
            else:
                await self._replicas.ask(database, keep)

        def step(now: Placement) -> Placement:
            still = {id: to for id, to in moved.items() if now.holders.get(id) == before[id]}
            return Placement(holders={**now.holders, **still}, regions=now.regions)

        await self._metadata.change(self._metadata.placement, step)

    # Rules

    async def _rules(self, ask: GetRules) -> Answer:
        deadline = asyncio.get_running_loop().time() + min(ask.wait, MOST_RULES_WAIT)
        while self._head.version <= ask.since:
            if not await self._news(deadline):
                return Answer(number=0)
        found = await self._rule_set()
        return Answer(number=0, rules=found) if found else _trouble("the rules can not be found")

    async def _rule_set(self) -> RuleSet | None:
        head = self._head
        if not head.sha256:
            return RuleSet()
        data = await self._replicas.document(f"rules:{head.sha256}", head.sha256)
        return None if data is None else decoded(data, RuleSet, "rules")

    @property
    def _head(self) -> Head:
        return self._metadata.head.value or Head()

    async def _put_rules(self, ask: PutRules) -> Answer:
        """Checked here as well; stored everywhere, then made the ones that hold."""
        before = await self._rule_set()
        if before is None:
            return _trouble("the rules that hold now can not be found")
        if before.version != ask.expected:
            return Answer(number=0, refused=f"the rules are at version {before.version}, not {ask.expected}")
        try:
            for rule in ask.rules.rules:
                check(parse(rule.text), ask.rules.definitions, place=rule.name)
        except BadInput as fault:
            return Answer(number=0, refused=str(fault))
        after = RuleSet(
            version=before.version + 1,
            rules=_versions(before, ask.rules),
            definitions=ask.rules.definitions,
        )
        data = encoded(after)
        sha256 = digest(data)
        copies = await self._replicas.everywhere(Keep(documents={f"rules:{sha256}": data.decode()}))
        if not copies:
            return _trouble("nobody could store the rules")
        head = Head(version=after.version, sha256=sha256)
        kept = await self._metadata.change(
            self._metadata.head, lambda now: head if now.version == before.version else None
        )
        if kept != head:
            return Answer(number=0, refused=f"the rules are at version {kept.version}, not {ask.expected}")
        return Answer(number=0, rules=after, copies=copies)


def _too_few(holders: tuple[str, ...], lost: set[str], alive: int) -> bool:
    return bool(lost & set(holders)) or len(holders) < min(REPLICAS, alive)


def _versions(before: RuleSet, after: RuleSet) -> tuple[RuleText, ...]:
    known = {rule.name: rule for rule in before.rules}
    return tuple(_version(rule, known.get(rule.name)) for rule in after.rules)


def _version(rule: RuleText, before: RuleText | None) -> RuleText:
    version = 1 if before is None else before.version + (before.text != rule.text)
    return RuleText(name=rule.name, text=rule.text, version=version)


def _released(kept: Grants, id: str) -> Grants:
    return Grants(queue=grants.released(kept.queue, id))


def _granted(kept: Grants, id: str, grant: Grant) -> Grants:
    return Grants(queue=grants.granted(kept.queue, id, grant))


def _trouble(reason: str) -> Answer:
    return Answer(number=0, refused=reason, again=True)
