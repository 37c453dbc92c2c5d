"""A run in ZooKeeper: how its nodes are written before it begins, read, and deleted (IPITT §IV-C).

The plan node is written first, as `beginning`, and again as `running` when all nodes below it exist. It
holds everything that these nodes are made from, so after an interruption any deployer can write them again.
Until the plan node says `running`, no link has been changed.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from regraft.coord import Coord, Corrupt, Create, Delete, Lease, Operation, Record, Set, Stored
from regraft.coord.layout import Layout, corrupt
from regraft.coord.typed import encode, read
from regraft.deploy.records import Command, Current, Doing, Run
from regraft.deploy.states import ActionState, RunState
from regraft.model import Broker, Kind, Link, Topology, ends
from regraft.model.changes import RawAction, apply

MOST_BYTES, MOST_OPERATIONS = 900_000, 500
"""Limits of one request; a server accepts a little more."""

R = TypeVar("R", bound=Record)


def topology_of(current: Current) -> Topology:
    kind: Kind = "mesh" if current.kind == "mesh" else "tree"
    links = tuple(Link(ends(*link)) for link in current.links)
    return Topology(tuple(map(Broker, current.brokers)), links, kind)


def expanded(run: Run, current: Current) -> tuple[list[list[Doing]], Current]:
    """The actions of each step as changes, and the topology that they lead to.

    `BadInput` if an action does not fit the links that the actions before it leave.
    """
    brokers, links = list(current.brokers), list(current.links)
    steps: list[list[Doing]] = []
    for step, actions in enumerate(run.steps, 1):
        doings: list[Doing] = []
        for number, action in enumerate(map(tuple, actions), 1):
            brokers, links = apply(action, brokers, links)
            name = f"{step}.{number}"
            doings.append(Doing(action=action, changes=[action], run=run.id, name=name, seconds=run.seconds))
        steps.append(doings)
    return steps, msgspec.structs.replace(current, brokers=brokers, links=links)


def changes_made(doing: Doing) -> list[RawAction]:
    """Those changes of the action that have been made."""
    return list(doing.changes if doing.state == ActionState.DONE else doing.changes[: doing.at])


async def read_required(coord: Coord, path: str, type: type[R]) -> Stored[R]:
    """What the node holds; `Corrupt` if the journal lacks it."""
    stored = await read(coord, path, type)
    if stored is None:
        raise missing(coord, path)
    return stored


def missing(coord: Coord, path: str) -> Corrupt:
    """The fault of a journal that lacks a node. The run cannot continue and has to be deleted as a whole."""
    whole = path.partition("/steps/")[0]
    return Corrupt(path, "is missing from the journal", corrupt(whole, "").repair).at(
        coord.configuration.hosts
    )


async def doings_of(coord: Coord, layout: Layout, run: Run) -> list[list[Doing]]:
    """All actions of the run, step by step, as they are now."""
    return [
        [
            (await read_required(coord, layout.action(step, number), Doing)).value
            for number in range(1, len(actions) + 1)
        ]
        for step, actions in enumerate(run.steps, 1)
    ]


async def deployer_of(coord: Coord, layout: Layout) -> str:
    """The name of the deployer that holds the lease; empty if none does."""
    queue = layout.lock("deployer")
    for place in await coord.children(queue):
        node = await coord.get(f"{queue}/{place}")
        if node is not None:
            return node.data.decode(errors="replace")
    return ""


async def write_run(coord: Coord, layout: Layout, lease: Lease, run: Run, current: Current) -> None:
    """Write all nodes of the run, whatever was there before; the last write starts it."""
    steps, _ = expanded(run, current)
    before = await coord.get(layout.plan)
    unwritten = msgspec.structs.replace(run, state=RunState.BEGINNING)
    beginning = encode(unwritten)
    if before is None:
        await coord.ensure(layout.root)
        await lease.write([Create(layout.plan, beginning)])
        version = 0
    else:
        await lease.write([Set(layout.plan, beginning, before.version)])
        version = before.version + 1
    await _write_all(lease, [Delete(path) for path in await _below(coord, layout.steps)])
    await _write_all(lease, _nodes(layout, steps))
    await _free_commands(
        coord, layout, lease, {name for step in run.steps for _, *names in step for name in names}
    )
    await lease.write([Set(layout.plan, encode(unwritten.become(RunState.RUNNING)), version)])


def _nodes(layout: Layout, steps: Sequence[Sequence[Doing]]) -> Iterator[Operation]:
    yield Create(layout.steps)
    for step, doings in enumerate(steps, 1):
        yield Create(layout.step(step))
        yield Create(layout.actions(step))
        for number, doing in enumerate(doings, 1):
            yield Create(layout.action(step, number), encode(doing))


async def _below(coord: Coord, path: str) -> list[str]:
    """The node and all nodes below it, the deepest first; empty if the node does not exist."""
    if await coord.get(path) is None:
        return []
    found: list[str] = []
    for child in await coord.children(path):
        found += await _below(coord, f"{path}/{child}")
    return [*found, path]


async def _free_commands(coord: Coord, layout: Layout, lease: Lease, brokers: Iterable[str]) -> None:
    """Give every broker a command node that names no action, so none of an earlier run."""
    operations: list[Operation] = []
    nothing = encode(Command())
    for name in sorted(brokers):
        path = layout.command(name)
        node = await coord.get(path)
        if node is None:
            await coord.ensure(layout.broker(name))
            operations.append(Create(path, nothing))
        elif node.data != nothing:
            operations.append(Set(path, nothing, node.version))
    await _write_all(lease, operations)


async def _write_all(lease: Lease, operations: Iterable[Operation]) -> None:
    """In requests of a size that a server accepts. Each request is atomic, all together are not."""
    part: list[Operation] = []
    size = 0
    for one in operations:
        bytes_ = 300 + 2 * len(one.path) + (len(one.data) if isinstance(one, Create | Set) else 0)
        if part and (size + bytes_ > MOST_BYTES or len(part) >= MOST_OPERATIONS):
            await lease.write(part)
            part, size = [], 0
        part.append(one)
        size += bytes_
    if part:
        await lease.write(part)
