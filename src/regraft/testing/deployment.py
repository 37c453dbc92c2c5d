"""Agents and deployers of the simulation: the real decision cores in shells that are slow and die.

Each looks at the ensemble now and then, decides a little later by what it saw, and writes a little later
still, so everything that it acts on may be outdated by then.
"""

from functools import cache
from typing import TYPE_CHECKING, TypeVar

from regraft.broker.core.change import Change
from regraft.coord import Record
from regraft.coord.layout import Layout
from regraft.deploy import agent_core, deployer_core
from regraft.deploy.agent_core import Abort, Agent, Commit, Decide, Do, Prepare, Report
from regraft.deploy.deployer_core import Deployer, KnownRecord, Put, Same
from regraft.deploy.records import Command, Current, Doing, Run, Status
from regraft.model import BadInput
from regraft.testing.broker_node import BrokerNode, World
from regraft.testing.ensemble import SimulatedEnsemble, StoredRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

R = TypeVar("R", bound=Record)
LAYOUT = Layout()
PLAN, TOPOLOGY = LAYOUT.plan, LAYOUT.topology
command_path, status_path = cache(LAYOUT.command), cache(LAYOUT.status)


def of_type(held: StoredRecord | None, kind: type[R]) -> R | None:
    return held.record if held is not None and isinstance(held.record, kind) else None


class Shell:
    """Looks, decides, acts; again and again while it is up."""

    def __init__(self, world: World, ensemble: SimulatedEnsemble, name: str) -> None:
        self.world = world
        self.ensemble = ensemble
        self.name = name
        self.up = False
        self.life = 0

    def start(self) -> None:
        self.up = True
        self.life += 1
        self.world.trace.note(self.name, f"starts, life {self.life}")
        self.begin()
        self._later(self.look)

    def begin(self) -> None: ...

    def kill(self) -> None:
        self.up = False

    def look(self) -> None: ...

    def _later(self, action: object, slow: float = 0.04) -> None:
        assert callable(action)
        draw = self.world.rng.random
        life, delay = self.life, 0.001 + (slow - 0.001) * draw()
        if draw() < 0.01:
            delay += self.world.rng.uniform(0.5, 3.0)
        self.world.clock.after(delay, lambda: action() if self.up and self.life == life else None)


class AgentNode(Shell):
    def __init__(self, world: World, ensemble: SimulatedEnsemble, broker: BrokerNode) -> None:
        super().__init__(world, ensemble, f"agent of {broker.name}")
        self.broker = broker

    def begin(self) -> None:
        self.core = Agent(self.broker.name)
        self.refused: dict[str, str] = {}
        self._at_rest = -1
        """How many writes there had been when the agent last had nothing to do and nothing to wait for."""

    def look(self) -> None:
        if not self.ensemble.away and (self._at_rest != self.ensemble.writes or self.broker.stages() != {}):
            seen, writes = self.ensemble.seen(), self.ensemble.writes
            self._later(lambda: self._decide(seen, writes))
        self._later(self.look, 0.1)

    def _decide(self, seen: "Mapping[str, StoredRecord]", writes: int) -> None:
        name = self.broker.name
        own = seen.get(command_path(name))
        command = of_type(own, Command) or Command()
        run = of_type(seen.get(PLAN), Run)
        stages = self.broker.stages()
        named = [LAYOUT.action(*map(int, id.split(":")[1].split("."))) for id in stages or {}]
        actions = {
            path: agent_core.KnownAction(doing, seen[path].version)
            for path in dict.fromkeys((*command.actions, *named))
            if (doing := of_type(seen.get(path), Doing)) is not None
        }
        near = {each for known in actions.values() for each in known.doing.change.brokers} | {name}
        statuses = {each: of_type(seen.get(status_path(each)), Status) or Status() for each in near}
        version = own.version if own is not None else -1
        id = run.id if run else ""
        view = agent_core.AgentView(command, actions, statuses, stages, self.refused, id, version)
        todo = self.core.react(view, self.world.clock.now)
        self._at_rest = -1 if todo or actions or stages != {} else writes
        for do in todo:
            self._later(lambda do=do: self._do(do, seen), 0.02)

    def _do(self, do: Do, seen: "Mapping[str, StoredRecord]") -> None:
        if isinstance(do, Report):
            path = status_path(self.broker.name)
            version = seen[path].version if path in seen else -1
            self.ensemble.commit([Put(path, do.status, version)])
        elif isinstance(do, Decide):
            same = Same(command_path(self.broker.name), do.command)
            if self.ensemble.commit([same, Put(do.path, do.doing, do.version)]):
                self.world.trace.note(self.name, f"{do.doing.change.id} {do.doing.state} {do.doing.reason}")
        elif self.broker.up:
            self._tell(do)

    def _tell(self, do: Prepare | Commit | Abort) -> None:
        core = self.broker.core
        try:
            if isinstance(do, Prepare):
                effects = core.prepare(Change(*do.change))
            elif isinstance(do, Commit):
                effects = core.commit(do.id)
            else:
                effects = core.abort(do.id)
        except BadInput as fault:
            if isinstance(do, Prepare) and do.change.id not in core.relink.parts:
                self.refused[do.change.id] = str(fault)
            return
        self.broker.carry_out(effects)


class DeployerNode(Shell):
    """Several may run; only the one that holds the lease can write."""

    def begin(self) -> None:
        self.core = Deployer(LAYOUT)

    @property
    def lease(self) -> str:
        return f"{self.name} {self.life}"

    def look(self) -> None:
        if not self.ensemble.away:
            if not self.ensemble.holder:
                self.ensemble.holder = self.lease
            if (
                self.ensemble.holder == self.lease or self.world.rng.random() < 0.2
            ):  # without the lease it may not know that yet
                seen = self.ensemble.seen()
                self._later(lambda: self._decide(seen))
        self._later(self.look, 0.1)

    def kill(self) -> None:
        """The session, and with it the lease, ends a while after the process."""
        lease = self.lease
        super().kill()
        self.world.clock.after(self.world.rng.uniform(0.1, 1.0), lambda: self._expire(lease))

    def expire(self) -> None:
        """The session ends, and the process does not know it yet."""
        self._expire(self.lease)

    def _expire(self, lease: str) -> None:
        if self.ensemble.holder == lease:
            self.ensemble.holder = ""

    def _decide(self, seen: "Mapping[str, StoredRecord]") -> None:
        run, topology = of_type(seen.get(PLAN), Run), of_type(seen.get(TOPOLOGY), Current)
        if run is None or topology is None:
            return
        prefix = LAYOUT.actions(run.step) + "/"
        view = deployer_core.RunView(
            KnownRecord(run, seen[PLAN].version),
            KnownRecord(topology, seen[TOPOLOGY].version),
            {
                path: KnownRecord(held.record, held.version)
                for path, held in seen.items()
                if path.startswith(prefix) and isinstance(held.record, Doing)
            },
            self._of(seen, command_path),
            {name: known.value for name, known in self._of(seen, status_path, Status).items()},
        )
        for transaction in self.core.next(view, self.world.clock.now):
            self._later(lambda t=transaction: self.ensemble.commit(t, self.lease), 0.02)

    def _of(
        self, seen: "Mapping[str, StoredRecord]", path: object, kind: type = Command
    ) -> dict[str, KnownRecord]:  # type: ignore[type-arg]
        assert callable(path)
        return {
            name: KnownRecord(held.record, held.version)
            for name in self.world.brokers
            if (held := seen.get(path(name))) is not None and isinstance(held.record, kind)
        }
