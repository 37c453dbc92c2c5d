"""Transformations of a live overlay while its parts are killed: nothing may be lost (issue 4's real run).

20 broker processes, an agent process each, three ZooKeeper nodes, numbered traffic; every few seconds a
random `kill -9` of the deployer, an agent, a broker or a ZooKeeper node. Deployers are `regraft apply`;
one that was killed is followed by `regraft apply --resume`.
"""

import argparse
import asyncio
import contextlib
import json
import random
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks._apply_clients import Brief
from benchmarks._apply_overlay import Running, clients, next_plan, overlay
from benchmarks._table import Line, show

from regraft.lab.workload import Shape, tree
from regraft.model.plan_files import write_plan

PROGRAM = "from regraft.cli.entry import main; main()"
KINDS = ("deployer", "agent", "broker", "zookeeper")
AWAY = 1.0
"""Seconds before a broker or a ZooKeeper node comes back."""


class Chaos:
    def __init__(self, running: Running, arguments: argparse.Namespace, folder: Path) -> None:
        self.running, self.arguments, self.folder = running, arguments, folder
        self.random = random.Random(arguments.seed)
        self.deployer: Process | None = None
        self.over = asyncio.Event()
        self.killed: Counter[str] = Counter()
        self.restarts = 0
        self.log: list[dict[str, Any]] = []

    async def kill_until_it_is_over(self) -> None:
        """What was killed is back when this returns."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.arguments.every):
                    await self.over.wait()
            if self.over.is_set():
                return
            kind = self.random.choice(KINDS)
            who = await getattr(self, f"_kill_{kind}")()
            if who:
                self.killed[kind] += 1
                self._say(f"killed {kind} {who}")

    async def _kill_deployer(self) -> str:
        if self.deployer is None or self.deployer.returncode is not None:
            return ""
        self.deployer.kill()
        return str(self.deployer.pid)

    async def _kill_agent(self) -> str:
        running = self.running.agents.running
        id = self.random.choice(sorted(running))
        running[id].kill()  # another follows by itself
        return id

    async def _kill_broker(self) -> str:
        id = self.random.choice(sorted(self.running.brokers.running))
        await self.running.brokers.kill(id)
        await asyncio.sleep(AWAY)
        await self.running.brokers.restart(id)
        return id

    async def _kill_zookeeper(self) -> str:
        node = self.random.choice(self.running.ensemble.nodes)
        node.kill()
        await asyncio.sleep(AWAY)
        node.launch()
        return str(node.port)

    async def transform(self, number: int) -> None:
        current = await self.running.topology()
        seed = self.arguments.seed * 1000 + number
        plan = await asyncio.to_thread(next_plan, current, self.arguments.ratio, seed)
        self.plan = str(self.folder / f"plan-{number}.json")
        self.goal = plan.goal
        write_plan(plan, self.plan)
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.arguments.stuck):
                outcome = await self._deploy([self.plan])
                while outcome is None:  # killed, or it has lost its lease
                    self.restarts += 1
                    outcome = await self._deploy(["--resume"])
        except TimeoutError:
            await self._dump()
            raise
        seconds = time.monotonic() - began
        reached = await self.running.topology()
        self.log.append({"steps": len(plan.steps), "actions": plan.actions, "seconds": seconds})
        self._say(f"transformation {number}: {plan.actions} actions in {seconds:.1f} s")
        if reached.sha256 != plan.goal:
            raise RuntimeError(f"transformation {number} has ended elsewhere: {json.dumps(outcome)}")

    async def _deploy(self, arguments: list[str]) -> dict[str, Any] | None:
        """The outcome; None if it has to be continued. A run that was over when it was killed is over."""
        self.deployer = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", PROGRAM, "apply", *arguments, "--json", "--canaries", "0"),
            *("--zookeeper", self.running.ensemble.hosts),
            stdout=PIPE,
            stderr=PIPE,
        )
        out, err = await self.deployer.communicate()
        said = err.decode().strip()
        if self.deployer.returncode == 0:
            outcome: dict[str, Any] = json.loads(out)
            return outcome
        if "was carried out to its end" in said:
            done = (await self.running.topology()).sha256 == self.goal
            return {} if done else await self._deploy([self.plan])  # the run before this one
        self._say(f"apply {' '.join(arguments)}: exit {self.deployer.returncode} {said} {out.decode()[:200]}")
        if arguments == ["--resume"] and "there is no run" in said:  # killed before it had begun
            return await self._deploy([self.plan])
        await asyncio.sleep(0.2)
        return None

    async def _dump(self) -> None:
        """What ZooKeeper holds when a transformation does not end."""
        coord, layout = self.running.coord, self.running.layout
        waiting = [layout.plan, layout.brokers, layout.locks]
        while waiting:
            path = waiting.pop()
            node = await coord.get(path)
            waiting += [f"{path}/{child}" for child in await coord.children(path)]
            if node is not None and node.data and not path.endswith("statistics"):
                self._say(f"{path} {node.data.decode()[:2000]}")

    def _say(self, text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


async def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    topology = tree(arguments.brokers, Shape(5, False, arguments.seed))
    next_plan(topology, arguments.ratio, 0)  # the planner compiles its kernels now, not while parts die
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with overlay(topology, folder, zookeepers=3, agent_processes=True) as running:
            chooser = random.Random(arguments.seed)
            places = [running.where(id) for id in chooser.sample(topology.ids, min(10, arguments.brokers))]
            brief = Brief(places[:5], arguments.rate, places[5:], 2, durable=True)
            async with clients(brief, folder) as traffic:
                chaos = Chaos(running, arguments, folder)
                killing = asyncio.create_task(chaos.kill_until_it_is_over())
                try:
                    for number in range(1, arguments.transformations + 1):
                        await chaos.transform(number)
                finally:
                    chaos.over.set()
                    await killing
                verdict = await traffic.verdict()
    return verdict | {"killed": chaos.killed, "continued": chaos.restarts, "transformations": chaos.log}


def lines(arguments: argparse.Namespace) -> Iterator[Line]:
    seen = asyncio.run(measure(arguments))
    kills = ", ".join(f"{count} {kind}" for kind, count in sorted(seen["killed"].items()))
    done = len(seen["transformations"])
    yield Line("transformations", str(arguments.transformations), f"{done}; killed: {kills}", None, seen)
    fate = f"{seen['lost']} lost, {seen['duplicated']} duplicated, {seen['reordered']} reordered"
    met = not (seen["lost"] or seen["duplicated"] or seen["reordered"] or seen["unacknowledged"])
    measured = f"{fate} of {seen['due']:,} due ({seen['published']:,} published)"
    yield Line("messages while parts are killed", "nothing lost", measured, met, seen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transformations", type=int, default=20)
    parser.add_argument("--brokers", type=int, default=20)
    parser.add_argument("--rate", type=float, default=500.0, help="messages per second")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between kills")
    parser.add_argument("--ratio", type=float, default=0.3, help="share of the links that each changes")
    parser.add_argument("--stuck", type=float, default=180.0, help="seconds for one transformation at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    shown = show(lines(arguments), f"seed {arguments.seed}, {arguments.rate:g} msg/s", arguments.out)
    sys.exit(0 if all(line.met is not False for line in shown) else 1)


if __name__ == "__main__":
    main()
