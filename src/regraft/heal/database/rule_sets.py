"""Rules at one database: found by their sha256, checked and versioned when stored, waited for by followers.

On failure: a set is stored before its digest is written to ZooKeeper; until then the earlier set stays
current.
"""

import asyncio

from regraft.heal.database.metadata import Head, Metadata
from regraft.heal.database.protocol import DatabaseAnswer, GetRules, Keep, PutRules, trouble
from regraft.heal.database.records import RuleSet, RuleText, decoded, digest, encoded
from regraft.heal.database.replicas import Replicas
from regraft.heal.rules import check, parse
from regraft.model import BadInput

MOST_RULES_WAIT = 30.0


class RuleSets:
    def __init__(self, replicas: Replicas, metadata: Metadata) -> None:
        self._replicas = replicas
        self._metadata = metadata

    async def get(self, ask: GetRules) -> DatabaseAnswer:
        deadline = asyncio.get_running_loop().time() + min(ask.wait, MOST_RULES_WAIT)
        while True:
            seen = self._metadata.changes
            if self._head.version > ask.since:
                break
            if not await self._metadata.news(seen, deadline):
                return DatabaseAnswer(number=0)
        found = await self._rule_set()
        return DatabaseAnswer(number=0, rules=found) if found else trouble("the rules cannot be found")

    async def _rule_set(self) -> RuleSet | None:
        head = self._head
        if not head.sha256:
            return RuleSet()
        data = await self._replicas.document(f"rules:{head.sha256}", head.sha256)
        return None if data is None else decoded(data, RuleSet, "rules")

    @property
    def _head(self) -> Head:
        return self._metadata.head.value or Head()

    async def put(self, ask: PutRules) -> DatabaseAnswer:
        """Checks the rules here as well, stores them at every database, then makes them the current ones."""
        before = await self._rule_set()
        if before is None:
            return trouble("the current rules cannot be found")
        if before.version != ask.expected:
            return _outdated(ask, before.version)
        try:
            for rule in ask.rules.rules:
                check(parse(rule.text), ask.rules.definitions, place=rule.name)
            if ask.rules.rules:  # brokers parse them as one text: if that failed, they would have no rules
                whole = "all rules together"
                check(parse(ask.rules.text, whole), ask.rules.definitions, place=whole)
        except BadInput as fault:
            return DatabaseAnswer(number=0, refused=str(fault))
        after = RuleSet(
            version=before.version + 1,
            rules=_versions(before, ask.rules),
            definitions=ask.rules.definitions,
        )
        data = encoded(after)
        sha256 = digest(data)
        copies = await self._replicas.everywhere(Keep(documents={f"rules:{sha256}": data.decode()}))
        if not copies:
            return trouble("no database could store the rules")
        head = Head(version=after.version, sha256=sha256)
        kept = await self._metadata.change(
            self._metadata.head, lambda now: head if now.version == before.version else None
        )
        if kept != head:
            return _outdated(ask, kept.version)
        return DatabaseAnswer(number=0, rules=after, copies=copies)


def _outdated(ask: PutRules, version: int) -> DatabaseAnswer:
    return DatabaseAnswer(number=0, refused=f"the rules are at version {version}, not {ask.expected}")


def _versions(before: RuleSet, after: RuleSet) -> tuple[RuleText, ...]:
    known = {rule.name: rule for rule in before.rules}
    return tuple(_version(rule, known.get(rule.name)) for rule in after.rules)


def _version(rule: RuleText, before: RuleText | None) -> RuleText:
    version = 1 if before is None else before.version + (before.text != rule.text)
    return RuleText(name=rule.name, text=rule.text, version=version)
