"""How brokers and commands use the destination database: the closest first, another one when it is away.

On failure: a database that does not answer within the limit, or answers garbage, is passed over for a while
and the next one is asked; when none is left, `DatabasesAway` gives the reason of each.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

from regraft.coord import Coord, Layout
from regraft.heal.database.metadata import RunningDatabase, running_databases
from regraft.heal.database.protocol import (
    Ask,
    DatabaseAnswer,
    DatabaseAway,
    DatabaseConnection,
    GetAdaptations,
    GetBrokers,
    GetGrant,
    GetRules,
    PutAdaptation,
    PutBroker,
    PutRules,
    ReleaseGrant,
)
from regraft.heal.database.records import Adaptation, BrokerRecord, RuleSet, RuleText
from regraft.heal.grant import Denied, Grant, GrantRequest
from regraft.heal.rules import Checked, check, parse
from regraft.model import BadInput, RegraftError

SECONDS = 2.0
PASSED_OVER = 1.0
RULES_WAIT = 10.0
PAUSE = 0.05


class DatabasesAway(RegraftError):
    """No destination database answers."""


class DatabaseClient:
    """`addresses`: of all databases, the closest first."""

    def __init__(self, addresses: Sequence[tuple[str, int]], seconds: float = SECONDS) -> None:
        if not addresses:
            raise BadInput("destination database", "no address is known")
        self._connections = [DatabaseConnection(host, port) for host, port in addresses]
        self._seconds = seconds
        self._away: dict[int, float] = {}

    @classmethod
    async def found(cls, coord: Coord, layout: Layout, region: str = "") -> "DatabaseClient":
        """A client of all running databases, those of our region first."""
        databases = await running_databases(coord, f"{layout.root}/heal")
        if not databases:
            raise BadInput(f"{layout.root}/heal/alive", "no destination database is running")
        return cls(closest(databases, region))

    async def close(self) -> None:
        for connection in self._connections:
            connection.close()

    async def request(self, request: GrantRequest, patience: float = 30.0) -> Grant | Denied:
        """Waits for the grant; `Denied` if it cannot be given, or not within `patience` seconds."""
        deadline = asyncio.get_running_loop().time() + patience
        while True:
            try:
                answer = await self._call(GetGrant(request=request))
            except DatabasesAway as fault:
                answer = DatabaseAnswer(number=0, refused=str(fault), again=True)
                await asyncio.sleep(PAUSE)
            if answer.grant is not None:
                return answer.grant
            if not answer.again:
                return Denied(answer.refused)
            if asyncio.get_running_loop().time() >= deadline:
                return Denied(f"no grant in {patience:g} s: {answer.refused}")

    async def release(self, grant: str, adaptation: Adaptation | None = None) -> None:
        """Records the adaptation, if one is given, and gives the grant back: the next one may begin."""
        if adaptation is not None:
            await self._done(PutAdaptation(adaptation=adaptation))
        await self._done(ReleaseGrant(grant=grant))

    async def put_broker(self, record: BrokerRecord) -> int:
        """Returns how many databases have stored it."""
        return (await self._done(PutBroker(record=record))).copies

    async def brokers(self, ids: Iterable[str] = ()) -> dict[str, BrokerRecord]:
        """The records of these brokers, or of all if none is named; without the unknown ones."""
        answer = await self._done(GetBrokers(ids=tuple(ids)))
        return {record.id: record for record in answer.brokers}

    async def adaptations(self, most: int = 100) -> tuple[Adaptation, ...]:
        """The newest first."""
        return (await self._done(GetAdaptations(most=most))).adaptations

    # Rules

    async def rules(self) -> RuleSet:
        return (await self._done(GetRules())).rules or RuleSet()

    async def put_rules(
        self,
        rules: Mapping[str, str],
        definitions: Mapping[str, float | str | bool],
        *,
        instead: bool = False,
    ) -> RuleSet | Denied:
        """Stores rules by name, beside those that are stored or `instead` of them. `Denied` with the
        reason."""
        before = await self.rules()
        kept = {} if instead else {rule.name: rule.text for rule in before.rules}
        texts = {**kept, **rules}
        wanted = RuleSet(
            rules=tuple(RuleText(name=name, text=text) for name, text in texts.items()),
            definitions={**({} if instead else before.definitions), **definitions},
        )
        answer = await self._call(PutRules(rules=wanted, expected=before.version))
        return answer.rules if answer.rules is not None else Denied(answer.refused)

    async def follow_rules(self) -> AsyncIterator[Checked]:
        """Yields the current rules, and the new ones after each change."""
        version = -1
        while True:
            try:
                answer = await self._call(GetRules(since=version, wait=RULES_WAIT), RULES_WAIT)
            except DatabasesAway:
                await asyncio.sleep(PASSED_OVER)
                continue
            if answer.rules is not None and answer.rules.version > version:
                version = answer.rules.version
                yield checked_rules(answer.rules)

    async def _done(self, ask: Ask) -> DatabaseAnswer:
        """For requests that are refused only if something fails."""
        answer = await self._call(ask)
        if answer.refused:
            raise DatabasesAway(f"the destination database refuses: {answer.refused}")
        return answer

    async def _call(self, ask: Ask, wait: float = 0.0) -> DatabaseAnswer:
        """The first answer that is not `again`; only if every database answers so, the last of those."""
        reasons: list[str] = []
        trouble: DatabaseAnswer | None = None
        for place in self._order():
            try:
                answer = await self._connections[place].call(ask, self._seconds + wait)
            except DatabaseAway as fault:
                self._away[place] = asyncio.get_running_loop().time()
                reasons.append(str(fault))
                continue
            self._away.pop(place, None)
            if not answer.again:
                return answer
            trouble = answer
        if trouble is not None:
            return trouble
        raise DatabasesAway("; ".join(reasons))

    def _order(self) -> list[int]:
        """The closest first; those that were away a moment ago last."""
        now = asyncio.get_running_loop().time()
        late = {place for place, at in self._away.items() if now - at < PASSED_OVER}
        return sorted(range(len(self._connections)), key=lambda place: (place in late, place))


def closest(databases: Mapping[str, RunningDatabase], region: str) -> list[tuple[str, int]]:
    order = sorted(databases, key=lambda id: (databases[id].region != region, id))
    return [(databases[id].host, databases[id].port) for id in order]


def checked_rules(rules: RuleSet) -> Checked:
    """The stored rules, ready to be evaluated."""
    return check(parse(rules.text), rules.definitions, version=rules.version) if rules.rules else Checked()
