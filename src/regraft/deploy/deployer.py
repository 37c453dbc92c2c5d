"""The deployer: holds the lease, follows the journal, and writes what `deployer_core` decides (IPITT §IV-C).

On failure: it keeps nothing that the journal does not hold, so it may be killed at any moment; the next
deployer takes the lease and continues. A lost lease ends it before its next write (`LeaseLost`). While
ZooKeeper cannot be reached it waits for as long as the lease is certainly held. It never guesses what it
wrote: after a conflict or a lost answer it reads everything again.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple, TypeVar

from regraft.coord import (
    Check,
    Conflict,
    Coord,
    CoordUnreachable,
    Create,
    Lease,
    LeaseLost,
    Node,
    Operation,
    Record,
    Set,
)
from regraft.coord.layout import Layout
from regraft.coord.typed import encode
from regraft.deploy.begin import begin_rollback
from regraft.deploy.deployer_core import Budget, Deployer, KnownRecord, Put, RunView, Same, Transaction
from regraft.deploy.journal import missing
from regraft.deploy.records import Command, Current, Doing, Run, Status
from regraft.deploy.states import ActionState, RunOrder, RunState
from regraft.deploy.statistics import Statistics
from regraft.deploy.watched_nodes import DeployerNodes

R = TypeVar("R", bound=Record)
T = TypeVar("T")
SLOW_SECONDS = 0.1


class Progress(NamedTuple):
    """What a watcher is told whenever something has changed."""

    run: Run
    actions: Mapping[str, Doing]
    """The actions of the step under way, by their nodes."""
    statuses: Mapping[str, Status]
    queues: Mapping[str, int]


Tell = Callable[[Progress], None]


class Execution:
    """Carries out the run in the journal, while the lease is held, until it is at rest."""

    def __init__(
        self,
        coord: Coord,
        layout: Layout,
        lease: Lease,
        budget: Budget = Budget(),  # noqa: B008 — a frozen value
        tell: Tell = lambda progress: None,
        slow: Callable[[], bool] = lambda: False,
    ) -> None:
        """`slow` is asked before a change begins: while it is true, none does."""
        self._coord, self._layout, self._lease = coord, layout, lease
        self._core = Deployer(layout, budget)
        self._tell = tell
        self._slow = slow

    async def to_rest(self) -> Run:
        """The run when it has ended. After an order to roll back it is the run that did that."""
        while True:
            self._nodes = DeployerNodes(self._coord)
            try:
                run = await self._one()
            finally:
                await self._nodes.stop()
            if run.wanted != RunOrder.ROLL_BACK or run.back:
                return run
            await begin_rollback(self._coord, self._layout, self._lease, run)

    async def _one(self) -> Run:
        while True:
            self._nodes.changed.clear()
            view = await self._while_held(self._view())
            run = view.run.value
            actions = {path: known.value for path, known in view.actions.items()}
            self._tell(Progress(run, actions, view.statuses, view.queues))
            if run.state != RunState.RUNNING:
                return run
            transactions = self._core.next(view, time.time())
            if any(map(_begins, transactions)) and self._slow():
                await self._while_held(asyncio.sleep(SLOW_SECONDS))
                continue
            for transaction in transactions:
                if not await self._write(transaction):
                    break
            if not transactions:
                await self._while_held(self._nodes.changed.wait())

    async def _view(self) -> RunView:
        """Everything that the core has to know about the step under way."""
        layout, nodes = self._layout, self._nodes
        always: dict[str, type[Record]] = {layout.plan: Run, layout.topology: Current}
        await nodes.want(always)
        run = self._known(layout.plan, Run)
        actions = run.value.steps[run.value.step - 1] if run.value.steps else []
        paths = [layout.action(run.value.step, number) for number in range(1, len(actions) + 1)]
        named = {name for _, *names in actions for name in names}
        of_brokers = self._nodes_of(named)
        await nodes.want(dict.fromkeys(paths, Doing) | of_brokers)
        doings = {path: self._known(path, Doing) for path in paths}
        nodes.keep_only(always.keys() | doings.keys() | of_brokers.keys())
        return self._seen(run, doings, named)

    def _seen(
        self, run: KnownRecord[Run], doings: Mapping[str, KnownRecord[Doing]], brokers: set[str]
    ) -> RunView:
        layout, nodes = self._layout, self._nodes
        commands = {name: nodes.get(layout.command(name), Command) for name in brokers}
        statuses = {name: nodes.get(layout.status(name), Status) for name in brokers}
        figures = {name: nodes.get(layout.statistics(name), Statistics) for name in brokers}
        return RunView(
            run=run,
            topology=self._known(layout.topology, Current),
            actions=doings,
            commands={n: KnownRecord(each.value, each.node.version) for n, each in commands.items() if each},
            statuses={name: each.value for name, each in statuses.items() if each},
            queues={name: each.value.queue_bytes for name, each in figures.items() if each},
        )

    def _nodes_of(self, brokers: set[str]) -> dict[str, type[Record]]:
        layout = self._layout
        nodes: dict[str, type[Record]] = {}
        for name in brokers:
            nodes[layout.command(name)] = Command
            nodes[layout.status(name)] = Status
            nodes[layout.statistics(name)] = Statistics
        return nodes

    def _known(self, path: str, type: type[R]) -> KnownRecord[R]:
        stored = self._nodes.get(path, type)
        if stored is None:
            raise missing(self._coord, path)
        return KnownRecord(stored.value, stored.node.version)

    async def _write(self, transaction: Transaction) -> bool:
        """Whether it was written. If not, everything was read again, and the core has to decide again."""
        try:
            results = await self._lease.write([_operation(put) for put in transaction])
        except (Conflict, CoordUnreachable):
            await self._read_again()
            return False
        for put, result in zip(transaction, results, strict=True):
            if isinstance(put, Put) and isinstance(result, Node):
                self._nodes.wrote(put.path, put.record, result)
        return True

    async def _read_again(self) -> None:
        while self._lease.held:
            with contextlib.suppress(CoordUnreachable):
                return await self._nodes.again()
        raise LeaseLost(self._layout.lock("deployer"))

    async def _while_held(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work; or `LeaseLost` as soon as the lease is lost, even while the work waits."""
        working, lost = asyncio.ensure_future(work), asyncio.ensure_future(self._lease.lost.wait())
        try:
            await asyncio.wait([working, lost], return_when=asyncio.FIRST_COMPLETED)
            if not self._lease.held:
                raise LeaseLost(self._layout.lock("deployer"))
            return working.result()
        finally:
            working.cancel()
            lost.cancel()


def _begins(transaction: Transaction) -> bool:
    return any(
        isinstance(put, Put) and isinstance(put.record, Doing) and put.record.state == ActionState.PREPARING
        for put in transaction
    )


def _operation(put: Put | Same) -> Operation:
    if isinstance(put, Same):
        return Check(put.path, put.version)
    data = encode(put.record)
    return Create(put.path, data) if put.version < 0 else Set(put.path, data, put.version)
