"""Intents that concern components, carried out: `Migrate` and `Clone` (Mimosa Pudica §4.3, rules 3 and 4).

Orders go to the host that owns the component. To carry an intent out twice is the same as once: a component
that is at its target already needs no order, and the name of a clone is made of its original and its place.
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

from regraft.components.caller import Calls
from regraft.components.directory import Directory, DirectoryAway
from regraft.components.messages import Entry, Order
from regraft.model.intents import Clone, Migrate

PATIENCE = 20.0
"""Seconds that one component may take."""


class IntentResult(NamedTuple):
    done: tuple[tuple[str, str], ...]
    """Component and place."""
    refused: tuple[tuple[str, str], ...]
    """Component and reason."""
    ms: float


async def carry_out(intent: Migrate | Clone, calls: Calls, directory: Directory) -> IntentResult:
    """With several targets, every component goes to each of them (Mimosa Pudica Fig. 2b): as clones, and in a
    migration the component itself goes to the first target, after its clones."""
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
    for order in orders(intent, names):
        try:
            reason = await _carry(order, entries.get(order.name), intent.source, calls)
        except DirectoryAway as fault:
            reason = str(fault)
        if reason:
            refused.append((order.name, reason))
        else:
            done.append((_name_there(order), order.target))
    return _ended(done, refused, begun)


def _ended(done: list[tuple[str, str]], refused: list[tuple[str, str]], begun: float) -> IntentResult:
    return IntentResult(tuple(done), tuple(refused), 1000 * (time.monotonic() - begun))


def clone_name(name: str, target: str) -> str:
    return f"{name}@{target}"


def orders(intent: Migrate | Clone, names: Sequence[str]) -> list[Order]:
    """One order for each component and target."""
    first, *others = intent.targets
    cloned = intent.targets if isinstance(intent, Clone) else others
    found = [
        Order(number=0, kind="clone", name=name, target=target, name_there=clone_name(name, target))
        for name in names
        for target in cloned
    ]
    if isinstance(intent, Migrate):
        found += [Order(number=0, kind="migrate", name=name, target=first) for name in names]
    return found


def _name_there(order: Order) -> str:
    return order.name_there if order.kind == "clone" else order.name


async def _carry(order: Order, entry: Entry | None, source: str, calls: Calls) -> str:
    """Why the component is not where it should be; empty if it is."""
    if entry is None:
        return f"there is no component {order.name!r}"
    if await _there(order, calls.directory):
        return ""
    if entry.place != source:
        return f"it is at {entry.place}, not at {source}"
    if await calls.directory.address(order.target) is None:
        return f"no component host is running at {order.target}"
    ended = await calls.order(source, order, PATIENCE)
    reason = f"{source} does not answer" if ended is None else ended.refused
    if not reason:
        return ""
    return "" if await _there(order, calls.directory) else reason


async def _there(order: Order, directory: Directory) -> bool:
    """The order is carried out: by an earlier leader, by a faster one, or although no answer came."""
    try:
        found = await directory.find(_name_there(order))
    except DirectoryAway:
        return False
    if found is None or found.entry.place != order.target:
        return False
    return order.kind == "migrate" or found.entry.origin == order.name
