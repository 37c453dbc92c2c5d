"""Install rules in real switches: phase by phase, all switches at once, and back if a rule is refused.

Nothing is sent before every switch has answered. Within a phase, switches do not wait for each other. A phase
begins when all switches have confirmed the one before and, if that one is to be drained, when all events on
their way have arrived.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import TypeVar

from regraft.flows.changing import RuleChange, change
from regraft.flows.connection import Patience, RuleRefused, SwitchConnection, check_address
from regraft.flows.openflow.codec import read_rule
from regraft.flows.rendering import FlowRules
from regraft.flows.rules import IN_CHANGE, Phase, Rule, SetMark
from regraft.model import BadInput

Progress = Callable[[int], None]
"""Called with the number of messages that were sent since the last call."""

PATIENCE = Patience()

T = TypeVar("T")


def install(
    rules: FlowRules,
    switches: Mapping[str, str],
    before: FlowRules | None = None,
    patience: Patience = PATIENCE,
    progress: Progress | None = None,
) -> RuleChange:
    """Install the rules in the switches (id -> `unix:PATH` or `tcp:HOST:PORT`) and return what was sent.

    `before` are the rules that the switches hold: then only the difference is sent, and no event is lost.
    """
    made = change(before, rules)
    asyncio.run(carry_out(made, switches, patience, progress))
    return made


def update(
    rules: FlowRules,
    switches: Mapping[str, str],
    patience: Patience = PATIENCE,
    progress: Progress | None = None,
) -> RuleChange:
    """`install` over whatever the switches hold: our rules are read from them, and the difference is sent.

    If an earlier change was interrupted, or the rules are of another block, all switches are wiped first.
    """
    held = installed({name: switches[name] for name in rules.switches if name in switches}, patience)
    every = [rule for each in held.values() for rule in each]
    foreign = any(_in_change(rule) or not _within(rule, rules) for rule in every)
    known = {name: tuple(each) for name, each in held.items() if each}
    before = None if foreign else FlowRules(rules.block, rules.wiring, known)
    return install(rules, switches, before, patience, progress)


def _in_change(rule: Rule) -> bool:
    return rule.match.mark is not None or SetMark(IN_CHANGE) in rule.actions


def _within(rule: Rule, rules: FlowRules) -> bool:
    block, match = rules.block, rule.match
    if match.prefix is None:
        return True
    return match.family == block.family and block.holds(match.prefix)


async def carry_out(
    made: RuleChange,
    switches: Mapping[str, str],
    patience: Patience = PATIENCE,
    progress: Progress | None = None,
) -> None:
    """Carry out all phases. If a switch refuses a rule, everything is taken back before the error is raised.

    Only the last two phases cannot be taken back, and they add no rule that a full table could refuse.
    """
    needed = sorted({switch for phase in made.phases for switch in phase.messages})
    _check(needed, switches)
    async with AsyncExitStack() as stack:
        connections = {name: SwitchConnection(name, switches[name], patience) for name in needed}
        await _all(stack.enter_async_context(connection) for connection in connections.values())
        for place, phase in enumerate(made.phases):
            try:
                await _phase(phase, connections, progress)
            except RuleRefused:
                for back in made.undone(place):
                    await _phase(back, connections, None)
                    await _drained(back, patience)
                raise
            if phase is not made.phases[-1]:
                await _drained(phase, patience)


def installed(switches: Mapping[str, str], patience: Patience = PATIENCE) -> dict[str, set[Rule]]:
    """Those of our rules that the switches hold now."""
    _check(switches, switches)
    return asyncio.run(_installed(switches, patience))


async def _installed(switches: Mapping[str, str], patience: Patience) -> dict[str, set[Rule]]:
    async def ask(name: str, address: str) -> set[Rule]:
        async with SwitchConnection(name, address, patience) as connection:
            return {read_rule(stats) for stats in await connection.rules()}

    found = await _all(ask(name, address) for name, address in switches.items())
    return dict(zip(switches, found, strict=True))


async def _phase(
    phase: Phase, connections: Mapping[str, SwitchConnection], progress: Progress | None
) -> None:
    await _all(connections[name].carry_out(each, progress) for name, each in phase.messages.items())


async def _drained(phase: Phase, patience: Patience) -> None:
    if phase.drain:
        await asyncio.sleep(patience.drain)


async def _all(tasks: Iterable[Awaitable[T]]) -> list[T]:
    """Run all tasks to their end (a half-done phase is no state to stop in), then raise the first fault."""
    results = await asyncio.gather(*tasks, return_exceptions=True)
    good: list[T] = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        good.append(result)
    return good


def _check(needed: Iterable[str], switches: Mapping[str, str]) -> None:
    for name in needed:
        if name not in switches:
            raise BadInput("switches", f"no address for switch {name!r}")
        check_address(switches[name], f"switches[{name!r}]")
