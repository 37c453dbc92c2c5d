"""Rules and adaptations of healing, for people and for the followers of the stream."""

import asyncio
from collections.abc import Mapping

from regraft.estate.protocol import Away, Estate, HealingRecord, HealingRules
from regraft.model import BadInput
from regraft.model.intents import describe
from regraft.serve import views as v
from regraft.serve.stream import Stream

FOLLOWED = 20
FOLLOW_SECONDS = 2.0


class Adaptations:
    def __init__(self, estate: Estate) -> None:
        self._estate = estate

    async def rules(self) -> v.RulesView | v.Refused:
        try:
            return _rules(await self._estate.rules())
        except Away as fault:
            return v.Refused(code="away", reason=str(fault))

    async def put_rules(
        self, rules: Mapping[str, str], definitions: Mapping[str, float | str | bool]
    ) -> v.RulesView | v.Refused:
        try:
            return _rules(await self._estate.put_rules(rules, definitions))
        except BadInput as fault:
            return v.Refused(code="bad", reason=str(fault))
        except Away as fault:
            return v.Refused(code="away", reason=str(fault))

    async def recent(self, limit: int) -> tuple[v.AdaptationView, ...] | v.Refused:
        try:
            return tuple(map(_adaptation, await self._estate.adaptations(limit)))
        except Away as fault:
            return v.Refused(code="away", reason=str(fault))

    async def follow(self, stream: Stream, pause: float = FOLLOW_SECONDS) -> None:
        """Tells the followers of the stream about new adaptations. Without followers, nothing is asked."""
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


def _rules(found: HealingRules) -> v.RulesView:
    rules = tuple(v.RuleView(name=each.name, text=each.text, version=each.version) for each in found.rules)
    return v.RulesView(
        version=found.version, rules=rules, definitions=dict(found.definitions), note=found.note
    )


def _adaptation(record: HealingRecord) -> v.AdaptationView:
    fields = {name: getattr(record, name) for name in record.__dataclass_fields__}
    return v.AdaptationView(**fields, said=tuple(map(describe, record.intents)))
