"""Intents that concern components, carried out: `Migrate` and `Clone` (Mimosa Pudica §4.3, rules 3 and 4).

Orders go to the host that owns the component, whoever gives them. Carrying out twice is carrying out once:
what is at a target already is done, and a clone has the name of its original and its place.
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

from regraft.heal.components.caller import Calls
from regraft.heal.components.directory import Directory, DirectoryAway
from regraft.heal.components.messages import Entry, Order
from regraft.model.intents import Clone, Migrate

PATIENCE = 20.0
"""Seconds for one component."""


class CarriedOut(NamedTuple):
    done: tuple[tuple[str, str], ...]
    """Component and place."""
    refused: tuple[tuple[str, str], ...]
    """Component and reason."""
    ms: float


async def carry_out(intent: Migrate | Clone, calls: Calls, directory: Directory) -> CarriedOut:
    """`calls` is that of any host. A migration to several targets deals the components out over them; a clone
    of each goes to each."""
    begun = time.monotonic()
    done: list[tuple[str, str]] = []
    refused: list[tuple[str, str]] = []
    try:
        entries = await directory.all()
    except DirectoryAway as fault:
        return _ended(done, [(name, str(fault)) for name in intent.components or ("",)], begun)
    names = intent.components or tuple(
        sorted(name for name, entry in entries.items() if entry.place == intent.source)
    )
    if not intent.targets:
        refused += [(name, "no target is named") for name in names]
        return _ended(done, refused, begun)
    for name, target in pairs(intent, names):
        if isinstance(intent, Clone):
            name_there = clone_name(name, target)
            order = Order(number=0, kind="clone", name=name, target=target, name_there=name_there)
        else:
            name_there = name
            order = Order(number=0, kind="migrate", name=name, target=target)
        reason = await _carry(order, name_there, entries.get(name), intent.source, calls)
        if reason:
            refused.append((name, reason))
        else:
            done.append((name_there, target))
    return _ended(done, refused, begun)


def _ended(done: list[tuple[str, str]], refused: list[tuple[str, str]], begun: float) -> CarriedOut:
    return CarriedOut(tuple(done), tuple(refused), 1000 * (time.monotonic() - begun))


def clone_name(name: str, target: str) -> str:
    return f"{name}@{target}"


def pairs(intent: Migrate | Clone, names: Sequence[str]) -> list[tuple[str, str]]:
    """Which component goes where."""
    if isinstance(intent, Clone):
        return [(name, target) for name in names for target in intent.targets]
    return [(name, intent.targets[n % len(intent.targets)]) for n, name in enumerate(names)]


async def _carry(order: Order, name_there: str, entry: Entry | None, source: str, calls: Calls) -> str:
    """Why it is not where it should be; empty if it is."""
    if entry is None:
        return f"there is no component {order.name!r}"
    if order.kind == "migrate" and entry.place == order.target:
        return ""
    if entry.place != source:
        return f"it is at {entry.place}, not at {source}"
    ended = await calls.order(source, order, PATIENCE)
    reason = f"{source} does not answer" if ended is None else ended.refused
    if not reason:
        return ""
    return "" if await _there(order, name_there, calls.directory) else reason


async def _there(order: Order, name: str, directory: Directory) -> bool:
    """Perhaps it has happened nevertheless, or somebody was faster with the same intent."""
    try:
        found = await directory.find(name)
    except DirectoryAway:
        return False
    if found is None or found.entry.place != order.target:
        return False
    return order.kind == "migrate" or found.entry.origin == order.name
