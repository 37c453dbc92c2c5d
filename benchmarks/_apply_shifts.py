"""Single shifts on a live overlay, and which deliveries they affected (IPITT §VI-B)."""

import itertools
import random
from typing import NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt
from benchmarks._apply_overlay import Running, verify

from regraft.deploy.begin import RunSettings
from regraft.deploy.execute import execute
from regraft.model import Action, Bounds, Ends, Plan, Topology, ends

QUIET = RunSettings(canaries=0)


class Shifted(NamedTuple):
    """`begun` and `seconds` as the journal has them; the topology before it."""

    links: frozenset[Ends]
    removed: Ends
    added: Ends
    begun: float
    seconds: float


def random_shift(current: Topology, rng: random.Random) -> Plan:
    """A plan of one action; the shifted broker may carry a whole subtree."""
    while True:
        i = rng.choice(current.ids)
        j = rng.choice(sorted(current.neighbours[i]))
        others = sorted(current.neighbours[j] - {i})
        if others:
            break
    k = rng.choice(others)
    links = [link.ends for link in current.links if link.ends != ends(i, j)] + [ends(i, k)]
    goal = Topology.of(links, current.ids)
    return Plan("tree", current.sha256, goal.sha256, ((Action("shift", (i, j, k)),),), "random", Bounds(1, 1))


async def shifts(running: Running, count: int, seed: int) -> list[Shifted]:
    """One after the other, each a run of its own."""
    rng = random.Random(seed)
    made: list[Shifted] = []
    for _ in range(count):
        current = await running.topology()
        plan = random_shift(current, rng)
        outcome = await execute(plan, running.coord, running.layout, verify, QUIET)
        (action,) = outcome.actions
        if not outcome.goal or action.begun is None or action.seconds is None:
            raise RuntimeError(f"a shift has failed: {outcome.reason}")
        i, j, k = plan.steps[0][0].brokers
        links = frozenset(current.by_ends)
        made.append(Shifted(links, ends(i, j), ends(i, k), action.begun, action.seconds))
    return made


def affected(
    rows: npt.NDArray[np.float64], made: list[Shifted], publishers: list[str], subscribers: list[str]
) -> npt.NDArray[np.bool_]:
    """Which deliveries were on their way over a link that was being taken away or made."""
    hit = np.zeros(len(rows), np.bool_)
    for shift in made:
        over = shift.begun + shift.seconds
        on_the_way = (rows[:, 4] >= shift.begun) & (rows[:, 3] <= over)
        pairs = {(int(s), int(p)) for s, p in rows[on_the_way][:, :2].tolist()}
        for s, p in pairs:
            if _crosses(shift, publishers[p], subscribers[s]):
                hit |= on_the_way & (rows[:, 0] == s) & (rows[:, 1] == p)
    return hit


def _crosses(shift: Shifted, start: str, end: str) -> bool:
    """A shift changes the path of a pair if and only if that path used the removed link."""
    way = nx.shortest_path(nx.Graph(shift.links), start, end)
    return shift.removed in {ends(*pair) for pair in itertools.pairwise(way)}
