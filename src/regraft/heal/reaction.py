"""From facts to Intents: which rules apply, and what they ask for (Mimosa Pudica §4.2, §4.3). Pure.

The order: higher priority first, then the event that arrived first, then the rule that was stored first. An
Intent that contradicts one before it is refused, and so is one that the limits do not allow (`limits`). When
components leave a broker that is about to fail, its deletion follows by the rules for that event, as the
paper's Rule 3 calls for Rule 1: directly after it, whatever priority the rule for deletions has, and not at
all if the components may not leave.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from regraft.heal.actions import intents_of
from regraft.heal.contradictions import contradicts
from regraft.heal.limits import RemovalLimits, permitted
from regraft.heal.rules.check import Checked, CheckedRule
from regraft.heal.rules.evaluate import Situation, Unmeasured
from regraft.model.facts import Event, Facts, Removal
from regraft.model.intents import Delete, Intent, Migrate, Refused


class Silent(NamedTuple):
    """A rule that could have applied, had this been measured."""

    rule: str
    event: str
    missing: str


@dataclass(frozen=True)
class Reaction:
    """`intents` are to be carried out in this order. `fired`: the rules whose conditions held."""

    intents: tuple[Intent, ...] = ()
    refused: tuple[Refused, ...] = ()
    fired: tuple[str, ...] = ()
    silent: tuple[Silent, ...] = ()


class _Applied(NamedTuple):
    """A rule that applies to an event, and what it asks for. `priority` is its own, or that of the rule from
    which the event follows."""

    rule: CheckedRule
    event: Event
    wanted: tuple[Intent | Refused, ...]
    priority: int


def react(facts: Facts, rules: Checked, limits: RemovalLimits | None = None) -> Reaction:
    """What is to be done about the events of these facts."""
    applied: list[_Applied] = []
    silent: list[Silent] = []
    for event in facts.events:
        _apply(event, facts, rules, applied, silent)
    applied.sort(key=lambda each: -each.priority)  # stable: arrival, then order of storing
    intents, refused = _settle([one for each in applied for one in each.wanted], facts, limits)
    fired = tuple(dict.fromkeys(each.rule.name for each in applied))
    return Reaction(tuple(intents), tuple(refused), fired, tuple(silent))


def _apply(
    event: Event,
    facts: Facts,
    rules: Checked,
    applied: list[_Applied],
    silent: list[Silent],
    cause: CheckedRule | None = None,
) -> None:
    """`cause`: the rule that this event follows from."""
    for rule in rules.rules:
        if rule.rule.on.name != event.name:
            continue
        situation = Situation(rule, event, facts)
        holds = situation.holds()
        if isinstance(holds, Unmeasured):
            silent.append(Silent(rule.name, event.name, holds.what))
        elif holds:
            wanted = tuple(one for call in rule.rule.do for one in intents_of(call, situation))
            applied.append(_Applied(rule, event, wanted, (cause or rule).rule.priority))
            if cause is None and event.name == "migrateBrokerRequest" and _left(wanted, event.broker):
                after = Event(name="deleteBrokerRequest", broker=event.broker, at=event.at)
                _apply(after, facts, rules, applied, silent, rule)


def _left(wanted: Sequence[Intent | Refused], broker: str) -> bool:
    return any(isinstance(one, Migrate) and one.source == broker for one in wanted)


def _settle(
    wanted: Sequence[Intent | Refused], facts: Facts, limits: RemovalLimits | None
) -> tuple[list[Intent], list[Refused]]:
    """Checks each against the earlier ones, and against the limits as those leave them."""
    kept: list[Intent] = []
    refused: list[Refused] = []
    for one in wanted:
        if isinstance(one, Refused):
            refused.append(one)
            continue
        if any(_same(one, earlier) for earlier in kept):
            continue
        reason = next((why for earlier in kept if (why := contradicts(one, earlier))), None)
        if reason is None:
            reason = _held(one, kept, refused, facts) or permitted(one, facts, limits or RemovalLimits())
        if reason is not None:
            refused.append(Refused(one, reason))
            continue
        kept.append(one)
        if isinstance(one, Delete):
            gone = Removal(facts.now, one.broker, one.broker not in facts.dead)
            facts = replace(facts, removed=(*facts.removed, gone))
    return kept, refused


def _held(one: Intent, kept: Sequence[Intent], refused: Sequence[Refused], facts: Facts) -> str | None:
    """A living broker is not deleted if the migration of its components was refused."""
    if not isinstance(one, Delete) or one.broker in facts.dead or _left(kept, one.broker):
        return None
    stuck = _left([each.intent for each in refused], one.broker)
    return f"the components of {one.broker} cannot leave it" if stuck else None


def _same(one: Intent, other: Intent) -> bool:
    """Whether they are equal apart from the rule that asked."""
    return type(one) is type(other) and all(
        getattr(one, name) == getattr(other, name)
        for name in one.__struct_fields__
        if name not in ("rule", "priority")
    )
