"""One seed, one transformation under traffic and faults: real cores carry a plan out, and any of them may
die.

Faults besides those of `simulation`: brokers are killed in the middle of a change, agents and deployers are
killed, deployers lose their session without knowing it, ZooKeeper is away for seconds, a run is stopped or
rolled back. At the end the brokers have the links that the journal names, and these are a tree: the goal, the
beginning, or something between, depending on how the run ended.

    python -m benchmarks.soak --transformations --seed 17 --trace
"""

from collections.abc import Iterator
from itertools import islice
from random import Random

import msgspec

from regraft.coord import Record
from regraft.deploy.deployer_core import Put
from regraft.deploy.records import Current, Doing, Run
from regraft.deploy.states import ActionState, RunOrder, RunState
from regraft.model import Ends, ends
from regraft.model.changes import apply, concerned, taken_back
from regraft.testing.deployment import LAYOUT, AgentNode, DeployerNode, of_type
from regraft.testing.ensemble import SimulatedEnsemble
from regraft.testing.final_state import remains
from regraft.testing.script import DURATION, Script, random_script
from regraft.testing.simulation import Outcome, Simulation, outcome_of

EXTRA = "x"
"""A broker without links that may be appended, and detached again."""


class Transformation(Simulation):
    """Carries out a script and a plan."""

    def __init__(self, seed: int, script: Script, *, keep: bool = False) -> None:
        super().__init__(seed, script, keep=keep)
        self.random = Random(f"{seed}/transformation")
        self.patience = 60.0  # a run may try its changes many times
        world = self.world
        world.brokers[EXTRA] = self.new_broker(EXTRA, [])
        self.ensemble = SimulatedEnsemble(world.clock, Random(f"{seed}/ensemble"))
        self.agents = {name: AgentNode(world, self.ensemble, node) for name, node in world.brokers.items()}
        self.deployers = [DeployerNode(world, self.ensemble, f"deployer {n}") for n in (1, 2)]
        links = sorted(ends(a, b) for a, b in script.links)
        self.start_topology = (sorted(script.brokers), links)
        self.goal = self._plan()
        self._schedule()

    # The journal at the beginning

    def _plan(self) -> tuple[list[str], list[Ends]]:
        """Writes a plan of random steps, whose actions can be carried out at once; returns its goal."""
        brokers, links = self.start_topology
        current = Current(epoch=1, kind="tree", brokers=brokers, links=links)
        steps: list[list[list[tuple[str, ...]]]] = []
        for _ in range(self.random.randint(1, 4)):
            step: list[list[tuple[str, ...]]] = []
            taken: set[tuple[str, ...]] = set()
            before = set(links)
            for _ in range(self.random.randint(1, 4)):
                changes = self._action(set(before), brokers)
                busy = {link for change in changes for link in concerned(change)}
                twice = changes[:1] and changes[0][0] == "append" and ("append",) in taken
                if changes and not taken & busy and not twice:
                    taken |= busy | {changes[0][:1]}
                    step.append(changes)
            for changes in step:
                for change in changes:
                    brokers, links = apply(change, brokers, links)
            steps.append(step)
        steps = [step for step in steps if step]
        run = Run(
            id="1-there",
            sha256="",
            kind="tree",
            steps=[[change for changes in step for change in changes] for step in steps],
            seconds=self.random.choice((0.3, 1.0, 3.0)),
            attempts=self.random.choice((1, 3, 8)),
            at_once=self.random.choice((0, 0, 1, 2)),
        )
        self._write(run, steps, current)
        return brokers, links

    def _write(self, run: Run, steps: list[list[list[tuple[str, ...]]]], current: Current) -> None:
        """Writes all nodes that `deploy.begin` writes."""
        nodes: dict[str, Record] = {LAYOUT.topology: current, LAYOUT.plan: run}
        for number, step in enumerate(steps, 1):
            for at, changes in enumerate(step, 1):
                nodes[LAYOUT.action(number, at)] = Doing(
                    action=changes[0],
                    changes=changes,
                    run=run.id,
                    name=f"{number}.{at}",
                    seconds=run.seconds,
                )
        gone = [path for path in self.ensemble.nodes if path.startswith(LAYOUT.steps)]
        for path in gone:
            del self.ensemble.nodes[path]
        for path, record in nodes.items():
            version = self.ensemble.nodes[path].version if path in self.ensemble.nodes else -1
            assert self.ensemble.commit([Put(path, record, version)])

    def _action(self, links: set[Ends], brokers: list[str]) -> list[tuple[str, ...]]:
        leaf = [link for link in links if EXTRA in link]
        if self.random.random() < 0.15:
            if not leaf and EXTRA not in brokers:
                return [("append", EXTRA, self.random.choice(brokers))]
            if len(leaf) == 1:
                other = next(each for each in leaf[0] if each != EXTRA)
                return [("detach", EXTRA, other)]
        i, j = self.random.sample(self.random.choice(sorted(links)), 2) if links else ("", "")
        beyond = sorted({each for link in links if j in link for each in link} - {i, j})
        if not beyond:
            return []
        return [("shift", i, j, self.random.choice(beyond))]

    # What goes wrong

    def _schedule(self) -> None:
        clock, random = self.world.clock, self.random
        for shell in [*self.agents.values(), *self.deployers]:
            clock.after(random.uniform(0.2, 1.5), shell.start)
        clock.after(random.uniform(0, 0.3), self.world.brokers[EXTRA].start)
        much = random.choice((0, 2, 6))
        for _ in range(random.randint(0, 2 * much)):
            clock.after(random.uniform(0.5, DURATION - 0.5), self._kill_somebody)
        for _ in range(random.choice((0, 0, 1, 2))):
            clock.after(random.uniform(0.5, DURATION - 1), self._lose_leader)
        for _ in range(random.choice((0, 0, 1, 2))):
            clock.after(random.uniform(0.5, DURATION - 1), self._expire)
        if random.random() < 0.3:
            clock.after(random.uniform(1.0, DURATION), lambda: self._want(RunOrder.STOP))
        elif random.random() < 0.3:
            clock.after(random.uniform(1.0, DURATION), lambda: self._want(RunOrder.ROLL_BACK))

    def _kill_somebody(self) -> None:
        busy = [
            name
            for held in self.ensemble.nodes.values()
            if isinstance(held.record, Doing)
            and held.record.state not in (ActionState.PENDING, ActionState.DONE)
            for name in held.record.change.brokers
        ]
        name = self.random.choice(busy or list(self.world.brokers))
        kind = self.random.choice(("broker", "broker", "agent", "deployer"))
        if kind == "broker":
            self._crash(self.world.brokers[name], mid_effects=self.random.random() < 0.4)
            return
        shell = self.agents[name] if kind == "agent" else self.random.choice(self.deployers)
        if shell.up:
            self.trace.fault(f"kill {kind}", shell.name)
            shell.kill()
            self.world.clock.after(self.random.uniform(0.1, 2.0), lambda: None if shell.up else shell.start())

    def _lose_leader(self) -> None:
        self.trace.fault("ZooKeeper away", "")
        self.ensemble.lose_leader(self.random.uniform(0.1, 3.0))

    def _expire(self) -> None:
        self.trace.fault("session lost", "")
        self.random.choice(self.deployers).expire()

    def _want(self, wanted: str) -> None:
        run = of_type(self.ensemble.nodes[LAYOUT.plan], Run)
        assert run is not None
        if run.state == RunState.RUNNING and not run.back:
            self.trace.note("operator", wanted)
            self._replace_run(msgspec.structs.replace(run, wanted=wanted))

    def _replace_run(self, run: Run) -> None:
        held = self.ensemble.nodes[LAYOUT.plan]
        while not self.ensemble.commit([Put(LAYOUT.plan, run, held.version)]):
            pass

    def _end_of_trouble(self) -> None:
        super()._end_of_trouble()
        self.ensemble.away_until = 0.0
        for shell in [*self.agents.values(), *self.deployers]:
            if not shell.up:
                shell.start()

    # The end

    def _left(self, most: int) -> str:
        run = of_type(self.ensemble.nodes[LAYOUT.plan], Run)
        current = of_type(self.ensemble.nodes[LAYOUT.topology], Current)
        assert run is not None
        assert current is not None
        if run.state == RunState.RUNNING:
            return f"the run is under way: {self._under_way()}"
        if run.wanted == RunOrder.ROLL_BACK and not run.back:
            self._roll_back(run, current)
            return "the run is rolled back"
        there = [(client.core, client.broker) for client in self.clients.values() if not client.gone]
        brokers = [self.world.brokers[name].core for name in current.brokers]
        rest = islice(self._wrong_links(run, current), most)
        return "; ".join([*rest, *islice(remains(brokers, there, self.checker), most)])

    def _under_way(self) -> list[str]:
        return [
            f"{held.record.change.id} {held.record.change} {held.record.state} {held.record.reason}"
            for held in self.ensemble.nodes.values()
            if isinstance(held.record, Doing)
            and held.record.state not in (ActionState.PENDING, ActionState.DONE)
        ]

    def _roll_back(self, run: Run, current: Current) -> None:
        done: list[list[list[tuple[str, ...]]]] = []
        for number in range(1, len(run.steps) + 1):
            prefix = LAYOUT.actions(number) + "/"
            nodes = sorted(self.ensemble.nodes.items())
            records = [held.record for path, held in nodes if path.startswith(prefix)]
            doings = [each for each in records if isinstance(each, Doing)]
            done.append(
                [
                    each.changes if each.state == ActionState.DONE else each.changes[: each.at]
                    for each in doings
                ]
            )
        steps = [[[change] for change in step] for step in taken_back(done)]
        back = msgspec.structs.replace(
            run, id="2-back", steps=[[c for cs in s for c in cs] for s in steps], back=True, wanted="run",
            state=RunState.RUNNING if steps else RunState.DONE, step=1, reason="", attempts=100,
        )  # fmt: skip
        self._write(back, steps, current)

    def _wrong_links(self, run: Run, current: Current) -> Iterator[str]:
        links = {ends(*link) for link in current.links}
        for name, node in self.world.brokers.items():
            near = {b if a == name else a for a, b in links if name in (a, b)}
            if set(node.core.tables.sides) != near or node.core.relink.parts:
                yield f"{name} has {sorted(node.core.tables.sides)}, the journal says {sorted(near)}"
        if len(links) != len(current.brokers) - 1:
            yield f"{len(links)} links between {len(current.brokers)} brokers are not a tree"
        reached = (sorted(current.brokers), sorted(links))
        if run.state == RunState.DONE and not run.back and reached != self.goal:
            yield f"the run is done, and the goal is not reached: {reached} instead of {self.goal}"
        if run.state == RunState.DONE and run.back and reached != self.start_topology:
            yield f"the run was rolled back to {reached} instead of {self.start_topology}"


def transform(seed: int, *, keep: bool = False) -> Outcome:
    """Run the script and the plan of this seed."""
    return outcome_of(seed, Transformation(seed, random_script(Random(f"{seed}/script")), keep=keep))
