"""Rules and adaptations of healing, from the destination databases of the network, if it has any."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from regraft.coord import Coord, Layout
from regraft.estate.protocol import Away, HealingRecord, HealingRule, HealingRules
from regraft.heal.database.client import DatabaseClient, DatabasesAway
from regraft.heal.database.records import Adaptation, RuleSet
from regraft.heal.grant import Denied
from regraft.heal.rules import parse
from regraft.model import BadInput

NONE = "no destination database runs for this overlay: it does not heal by itself"


class HealingDatabases:
    """Connects anew for each request: requests are rare, and databases come and go."""

    def __init__(self, coord: Coord, layout: Layout) -> None:
        self._coord = coord
        self._layout = layout

    async def rules(self) -> HealingRules:
        async with self._client() as client:
            return HealingRules(note=NONE) if client is None else _rules(await client.rules())

    async def put_rules(
        self, rules: Mapping[str, str], definitions: Mapping[str, float | str | bool]
    ) -> HealingRules:
        for name, text in rules.items():
            names = [rule.name for rule in parse(text, name)]
            if names != [name]:
                raise BadInput(name, f"holds the rules {names}, exactly one of that name is needed")
        async with self._client() as client:
            if client is None:
                raise Away(NONE)
            stored = await client.put_rules(dict(rules), dict(definitions))
        if isinstance(stored, Denied):
            raise BadInput("", stored.reason)
        return _rules(stored)

    async def adaptations(self, limit: int) -> tuple[HealingRecord, ...]:
        async with self._client() as client:
            return () if client is None else tuple(map(_record, await client.adaptations(limit)))

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[DatabaseClient | None]:
        """None if the network has no database; `Away` if no database answers."""
        try:
            client = await DatabaseClient.found(self._coord, self._layout)
        except BadInput:
            yield None
            return
        try:
            yield client
        except DatabasesAway as fault:
            raise Away(str(fault)) from None
        finally:
            await client.close()


def _rules(stored: RuleSet) -> HealingRules:
    rules = tuple(HealingRule(each.name, each.text, each.version) for each in stored.rules)
    return HealingRules(stored.version, rules, dict(stored.definitions))


def _record(stored: Adaptation) -> HealingRecord:
    return HealingRecord(
        id=stored.id,
        kind=stored.kind,
        cause=stored.cause,
        at=stored.at,
        rules=stored.rules,
        leader=stored.leader,
        intents=stored.intents,
        timeout_ms=stored.timeout_ms,
        vote_ms=stored.vote_ms,
        election_ms=stored.election_ms,
        adaptation_ms=stored.adaptation_ms,
        outcome=stored.outcome,
        reason=stored.reason,
    )
