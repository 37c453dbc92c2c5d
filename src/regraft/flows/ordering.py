"""The order of messages within a switch: every event meets its old rule or its new one and never a third.

Rules are added from the highest priority down, then replaced, then deleted from the lowest priority up, with
barriers between. (A rule that is added has everything above it in place already; a rule that is deleted has
nothing below it that is still to go.)
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
        # What is replaced is the same in both sets but for its actions: there the order is free.
        levels = [rules] if command is Command.MODIFY else (list(each) for _, each in groupby(rules, _rising))
        for level in levels:
            if level:
                messages += [Barrier()] if messages else []
                messages += (FlowMod(command, rule) for rule in level)
    return tuple(messages)


def append(messages: dict[str, list[Message]], switch: str, more: tuple[Message, ...]) -> None:
    if more:
        known = messages.setdefault(switch, [])
        if known and not isinstance(known[-1], Barrier):
            known.append(Barrier())
        known += more


def frozen(messages: Mapping[str, list[Message]]) -> dict[str, tuple[Message, ...]]:
    return {switch: tuple(each) for switch, each in messages.items() if each}


def _falling(rule: Rule) -> int:
    return -rule.priority


def _rising(rule: Rule) -> int:
    return rule.priority
