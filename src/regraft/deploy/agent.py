"""The agent of one broker (IPITT §IV-C): the shell around `agent_core`, which decides everything.

The agent watches its command node, the actions named there and the status of all brokers that take part. It
asks its broker how far it is, and carries out what the core decides. It does so in rounds, so whatever fails
(a session, a broker, a write that another agent made first) is logged and tried again in the next round. It
keeps nothing that it cannot read again: it can be killed at any moment and another one started.

`agents` runs the agents of many brokers, `agent_process` runs agents in a process of their own.
"""

import asyncio
import logging
import re
from collections.abc import Iterable
from typing import NoReturn

import msgspec

from regraft.broker.io.control_messages import BrokerState
from regraft.coord import (
    Check,
    Conflict,
    Coord,
    CoordError,
    Layout,
    Node,
    Presence,
    Record,
    Set,
    Unknown,
)
from regraft.coord.typed import encode, write
from regraft.deploy.acquainting import keep_acquainted
from regraft.deploy.agent_core import (
    Abort,
    Agent,
    AgentView,
    Commit,
    Decide,
    Do,
    KnownAction,
    Prepare,
    Report,
)
from regraft.deploy.driver import Address, Driver, RefusedByBroker, Unreachable
from regraft.deploy.records import Command, Doing, Run, Status
from regraft.deploy.states import Reported
from regraft.deploy.statistics import keep_statistics
from regraft.deploy.watched_nodes import AgentNodes

log = logging.getLogger("regraft.deploy")
BUSY_SECONDS = 0.2
IDLE_SECONDS = 1.0
CHANGE = re.compile(r"[^:]+:([1-9]\d*)\.([1-9]\d*):\d+:\d+", re.ASCII)
"""The id of a change: run, step and action, number of the change, attempt."""


class BrokerAgent:
    """`await BrokerAgent(...).run()` until it is cancelled."""

    def __init__(
        self, broker: str, driver: Driver, coord: Coord, layout: Layout, address: Address | None = None
    ) -> None:
        """`address`: where other brokers reach the broker, if that is not where it listens."""
        self._broker = broker
        self._driver = driver
        self._coord = coord
        self._layout = layout
        self._address = address
        self._core = Agent(broker)
        self._nodes = AgentNodes(coord, driver.changed)
        self._refused: dict[str, str] = {}
        self._told: dict[str, Address] = {}
        self._life = 0
        self._names: set[str] = set()
        self._known: list[str] = []
        """The action nodes of the changes that the broker has."""
        self._idle = False
        self._trouble: dict[str, str] = {}
        self._action = re.compile(rf"{re.escape(layout.steps)}/\d+/actions/\d+", re.ASCII)

    async def run(self) -> NoReturn:
        alive = Presence(self._coord, self._layout.alive(self._broker), replace=True)
        coord, layout, broker, driver = self._coord, self._layout, self._broker, self._driver
        beside = [
            asyncio.create_task(keep_statistics(coord, layout.statistics(broker), driver)),
            asyncio.create_task(keep_acquainted(coord, layout, broker, driver)),
        ]
        try:
            async with alive:
                while True:
                    self._driver.changed.clear()
                    busy = await self._safe_round()
                    self._idle = await self._nothing_happens(BUSY_SECONDS if busy else IDLE_SECONDS)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await self._nodes.stop()

    async def _nothing_happens(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._driver.changed.wait()
        except TimeoutError:
            return True
        return False

    async def _safe_round(self) -> bool:
        """One round; whether something is under way."""
        try:
            busy = await self._round()
            self._notice("ZooKeeper", "")
            return busy
        except CoordError as fault:
            self._notice("ZooKeeper", str(fault))
            await asyncio.sleep(BUSY_SECONDS)
            return True

    def _notice(self, what: str, trouble: str) -> None:
        """Log a problem when it begins, not in every round."""
        if trouble != self._trouble.get(what, ""):
            self._trouble[what] = trouble
            if trouble:
                log.warning("agent of %s: %s", self._broker, trouble)

    # Seeing

    async def _round(self) -> bool:
        seen = await self._driver.state()
        state = None if isinstance(seen, Unreachable) else seen
        away = f"the broker cannot be reached: {seen.reason}" if isinstance(seen, Unreachable) else ""
        self._notice("broker", away)
        paths = self._watch(state)
        nodes, own = self._nodes, [self._layout.command(self._broker), self._layout.status(self._broker)]
        busy = bool(paths) or state is None or bool(state.stages)
        if not nodes.are_read(own) or any(map(nodes.is_corrupt, own)):
            return busy
        view = self._view(paths, state)
        todo = self._core.react(view, asyncio.get_running_loop().time())
        for each in sorted(todo, key=_first):
            await self._tell(each, view)
        for each in todo:
            if isinstance(each, Decide):
                await self._decide(each)
        known = all(path in view.actions and view.actions[path].version >= 0 for path in paths)
        await self._report(todo, view, whole=known and nodes.get(own[0], Command) is not None)
        await self._introduce(view, state)
        return busy

    def _watch(self, state: BrokerState | None) -> list[str]:
        """The actions that this broker's command names. Everything that they depend on is watched."""
        layout, nodes = self._layout, self._nodes
        command = nodes.get(layout.command(self._broker), Command)
        named = dict.fromkeys(command.value.actions if command is not None else [])
        paths = [path for path in named if self._action.fullmatch(path)]
        odd = sorted(named.keys() - {*paths})
        self._notice("command", f"the command names nodes that are not actions: {odd}" if odd else "")
        actions = [action for path in paths if (action := self._doing(path)) is not None]
        names = {self._broker, *(name for known in actions for name in known.doing.change.brokers)}
        if state is not None:
            names |= {name for name, up in state.links.items() if up != "up"}
        self._known = [] if state is None else [path for id in state.stages if (path := self._node_of(id))]
        own: dict[str, type[Record]] = {layout.command(self._broker): Command}
        if {*self._known} - {*paths}:  # they may belong to an earlier run
            own[layout.plan] = Run
        nodes.want(
            own
            | dict.fromkeys((*paths, *self._known), Doing)
            | {layout.status(name): Status for name in names}
        )
        self._names = names
        return paths

    def _view(self, paths: list[str], state: BrokerState | None) -> AgentView:
        wanted = dict.fromkeys((*paths, *self._known))
        actions = {path: known for path in wanted if (known := self._doing(path)) is not None}
        statuses = {}
        for name in self._names:
            status = self._nodes.get(self._layout.status(name), Status)
            statuses[name] = status.value if status is not None else Status()
        statuses[self._broker] = self._located(statuses[self._broker], state)
        ids = {known.doing.change.id for known in actions.values()}
        self._refused = {id: reason for id, reason in self._refused.items() if id in ids}
        stages = None
        if state is not None:
            stages = {id: stage for id, stage in state.stages.items() if self._node_of(id)}
        run = self._nodes.get(self._layout.plan, Run)
        id = run.value.id if run is not None else ""
        command = self._nodes.get(self._layout.command(self._broker), Command)
        version = command.node.version if command is not None else -1
        return AgentView(Command(actions=tuple(paths)), actions, statuses, stages, self._refused, id, version)

    def _node_of(self, id: str) -> str:
        """The node of the action that a change of the broker belongs to, commanded or not; empty if the
        change was not made by a deployer."""
        named = CHANGE.fullmatch(id)
        return self._layout.action(int(named[1]), int(named[2])) if named else ""

    def _doing(self, path: str) -> KnownAction | None:
        stored = self._nodes.get(path, Doing)
        command = self._nodes.get(self._layout.command(self._broker), Command)
        if stored is not None:
            doing, version = stored.value, stored.node.version
        elif command is not None and path in command.value.begun and not self._nodes.are_read([path]):
            # The command carries the action, so that preparing need not wait until its node has been read.
            doing, version = command.value.begun[path], -1
        else:
            return None
        odd = not 0 <= doing.at < len(doing.changes) or len(doing.changes[doing.at]) < 2
        self._notice(path, f"{path} has no change number {doing.at}" if odd else "")
        return None if odd else KnownAction(doing, version)

    def _located(self, status: Status, state: BrokerState | None) -> Status:
        if state is None:
            return status
        host, port = self._address or state.address
        return msgspec.structs.replace(status, host=host, port=port, life=state.life)

    # Doing

    async def _introduce(self, view: AgentView, state: BrokerState | None) -> None:
        """Tell the broker the addresses of the brokers that it may have to call."""
        if state is None or state.life != self._life:
            self._life, self._told = state.life if state is not None else 0, {}
        known = _addresses(view, self._names - {self._broker})
        new = {name: address for name, address in known.items() if self._told.get(name) != address}
        if state is not None and new and await self._driver.introduce(new) is None:
            self._told |= new

    async def _tell(self, do: Do, view: AgentView) -> None:
        if isinstance(do, Prepare):
            result = await self._driver.prepare(do.change, _addresses(view, do.change.brokers))
            if isinstance(result, RefusedByBroker):
                log.info("agent of %s: %s refused: %s", self._broker, do.change, result.reason)
                self._refused[do.change.id] = result.reason
                self._driver.changed.set()
        elif isinstance(do, Commit | Abort):
            commit = isinstance(do, Commit)
            result = await (self._driver.commit(do.id) if commit else self._driver.abort(do.id))
            if isinstance(result, RefusedByBroker):  # perhaps because it has finished the change meanwhile
                word = "commit" if commit else "abort"
                log.info(
                    "agent of %s: the broker does not %s %s: %s", self._broker, word, do.id, result.reason
                )

    async def _decide(self, do: Decide) -> None:
        try:
            same = Check(self._layout.command(self._broker), do.command)
            written = Set(do.path, encode(do.doing), do.version)
            _, node = await self._coord.transaction([same, written])
        except Conflict:
            return  # another agent has decided, or the action is over: the watches will show it
        assert isinstance(node, Node)
        log.info("agent of %s: %s is %s %s", self._broker, do.doing.change, do.doing.state, do.doing.reason)
        self._nodes.wrote(do.path, do.doing, node)
        self._driver.changed.set()

    async def _report(self, todo: list[Do], view: AgentView, whole: bool) -> None:
        """Write the status. Unless all actions were seen (`whole`), no earlier report is removed from it."""
        path = self._layout.status(self._broker)
        stored = self._nodes.get(path, Status)
        status = next((do.status for do in todo if isinstance(do, Report)), view.statuses[self._broker])
        if not whole and stored is not None:
            status = msgspec.structs.replace(status, changes=stored.value.changes | status.changes)
        if stored is not None and (
            status == stored.value or not (self._idle or _is_news(status, stored.value))
        ):
            return
        try:
            node = await write(self._coord, path, status, stored.node if stored is not None else None)
        except (Conflict, Unknown):
            await self._nodes.again(path)
        else:
            self._nodes.wrote(path, status, node)
        self._driver.changed.set()


def _is_news(status: Status, before: Status) -> bool:
    """Whether others wait for it. Stages that they do not wait for are written when nothing else happens."""
    if (status.host, status.port, status.life) != (before.host, before.port, before.life):
        return True
    return any(
        stage.stage not in (Reported.PREPARED, Reported.COMMITTED) and stage != before.changes.get(id)
        for id, stage in status.changes.items()
    )


def _first(do: Do) -> int:
    """Aborts come first, because a new change may need the same links."""
    return 0 if isinstance(do, Abort) else 1 if isinstance(do, Commit) else 2


def _addresses(view: AgentView, names: Iterable[str]) -> dict[str, Address]:
    statuses = {name: view.statuses.get(name, Status()) for name in names}
    return {name: (status.host, status.port) for name, status in statuses.items() if status.port}
