"""Rules and adaptations of healing, from the destination databases of the overlay, if it has any."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from regraft.app import views as v
from regraft.app.stream import Stream
from regraft.coord import Coord, CoordError, Layout
from regraft.heal.database.client import DatabaseClient, DatabasesAway, Denied
from regraft.heal.database.records import Adaptation, RuleSet
from regraft.heal.rules import parse
from regraft.model import BadInput
from regraft.model.intents import said

NONE = "no destination database runs for this overlay: it does not heal by itself"

FOLLOWED = 20
FOLLOW_SECONDS = 2.0


class Adaptations:
    """A connection is made for each question: they are rare, and databases come and go."""

    def __init__(self, coord: Coord, layout: Layout) -> None:
        self._coord = coord
        self._layout = layout

    async def rules(self) -> v.RulesView | v.Refused:
        try:
            async with self._client() as client:
                return _rules(await client.rules())
        except BadInput:
            return v.RulesView(version=0, rules=(), definitions={}, note=NONE)
        except (CoordError, DatabasesAway) as fault:
            return v.Refused(code="away", reason=str(fault))

    async def put_rules(
        self, rules: Mapping[str, str], definitions: Mapping[str, float | str | bool]
    ) -> v.RulesView | v.Refused:
        try:
            for name, text in rules.items():
                names = [rule.name for rule in parse(text, name)]
                if names != [name]:
                    return v.Refused(
                        code="bad", reason=f"{name}: holds the rules {names}, one of that name is needed"
                    )
        except BadInput as fault:
            return v.Refused(code="bad", reason=str(fault))
        try:
            async with self._client() as client:
                stored = await client.put_rules(dict(rules), dict(definitions))
        except BadInput:
            return v.Refused(code="away", reason=NONE)
        except (CoordError, DatabasesAway) as fault:
            return v.Refused(code="away", reason=str(fault))
        return v.Refused(code="bad", reason=stored.reason) if isinstance(stored, Denied) else _rules(stored)

    async def recent(self, limit: int) -> tuple[v.AdaptationView, ...] | v.Refused:
        try:
            async with self._client() as client:
                return tuple(map(_adaptation, await client.adaptations(limit)))
        except BadInput:
            return ()
        except (CoordError, DatabasesAway) as fault:
            return v.Refused(code="away", reason=str(fault))

    async def follow(self, stream: Stream, pause: float = FOLLOW_SECONDS) -> None:
        """Tells those who follow what is written down from now on. For nobody, nothing is asked."""
        known: dict[str, v.AdaptationView] | None = None
        while True:
            if not stream.is_followed:
                known = None
            elif not isinstance(recent := await self.recent(FOLLOWED), v.Refused):
                for each in reversed(recent):
                    if known is not None and known.get(each.id) != each:
                        stream.tell("adaptation", each)
                known = {each.id: each for each in recent}
            await asyncio.sleep(pause)

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[DatabaseClient]:
        """`BadInput` if there is none."""
        client = await DatabaseClient.found(self._coord, self._layout)
        try:
            yield client
        finally:
            await client.close()


def _rules(stored: RuleSet) -> v.RulesView:
    rules = tuple(v.RuleView(name=each.name, text=each.text, version=each.version) for each in stored.rules)
    return v.RulesView(version=stored.version, rules=rules, definitions=dict(stored.definitions))


def _adaptation(stored: Adaptation) -> v.AdaptationView:
    return v.AdaptationView(
        id=stored.id,
        kind=stored.kind,
        cause=stored.cause,
        at=stored.at,
        rules=stored.rules,
        leader=stored.leader,
        intents=stored.intents,
        said=tuple(map(said, stored.intents)),
        timeout_ms=stored.timeout_ms,
        vote_ms=stored.vote_ms,
        election_ms=stored.election_ms,
        adaptation_ms=stored.adaptation_ms,
        outcome=stored.outcome,
        reason=stored.reason,
    )
