"""The order of messages within a switch: every event meets its old rule or its new one and never a third.

Rules are added from the highest priority down, then replaced, then deleted from the lowest priority up, with
barriers between. When a rule is added, all rules above it are in place already; when one is deleted, all
rules below it that have to go are gone already.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby

from regraft.flows.rules import Barrier, Command, FlowMod, Message, Rule, by_key


def ordered(old: Iterable[Rule], new: Iterable[Rule]) -> tuple[Message, ...]:
    """The changes of one switch, such that no event ever meets a rule of neither set."""
    before, after = by_key(old), by_key(new)
    stages = (
        (Command.ADD, sorted((after[key] for key in after.keys() - before.keys()), key=_falling)),
        (Command.MODIFY, [rule for key, rule in after.items() if key in before and before[key] != rule]),
        (Command.DELETE, sorted((before[key] for key in before.keys() - after.keys()), key=_rising)),
    )
    messages: list[Message] = []
    for command, rules in stages:
        # A replaced rule differs from its successor in its actions only, so replacements need no order.
        levels = [rules] if command is Command.MODIFY else (list(each) for _, each in groupby(rules, _rising))
        for level in levels:
            if level:
                messages += [Barrier()] if messages else []
                messages += (FlowMod(command, rule) for rule in level)
    return tuple(messages)


def append(messages: dict[str, list[Message]], switch: str, more: tuple[Message, ...]) -> None:
    """Add messages of a switch, behind a barrier if it has some already."""
    if more:
        earlier = messages.setdefault(switch, [])
        if earlier and not isinstance(earlier[-1], Barrier):
            earlier.append(Barrier())
        earlier += more


def frozen(messages: Mapping[str, list[Message]]) -> dict[str, tuple[Message, ...]]:
    return {switch: tuple(each) for switch, each in messages.items() if each}


def _falling(rule: Rule) -> int:
    return -rule.priority


def _rising(rule: Rule) -> int:
    return rule.priority
