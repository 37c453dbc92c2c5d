"""Overlays and their views for tests of the web part: real evaluation and planning, invented traffic."""

from random import Random

from regraft.evaluate.assess import assess
from regraft.loop.goals import Limits
from regraft.loop.policy import Policy
from regraft.model import Broker, Infeasible, Link, Plan, Topology, ends
from regraft.model import Limits as PlanLimits
from regraft.model.traffic import Traffic, TrafficClass
from regraft.model.workload import Workload
from regraft.plan.make import make_plan
from regraft.plan.verify import effect
from regraft.serve import views as v
from regraft.serve.designing import TopologyDesigner
from regraft.serve.history import plan_document
from regraft.serve.network_facts import NetworkFacts
from regraft.serve.previews import preview
from regraft.testing.trees import changed_tree, random_tree

NUMBERS = ("routing-cost", "degree", "load")


def overlay(size: int, seed: int = 0) -> Topology:
    """A random tree over places in Europe."""
    rng = Random(seed)
    brokers = tuple(
        Broker(
            f"b{n}",
            "127.0.0.1",
            4000 + n,
            f"region {n % 5}",
            1.0,
            None,
            rng.uniform(38, 60),
            rng.uniform(-8, 28),
        )
        for n in range(size)
    )
    return _tree(brokers, random_tree(size, rng), rng)


def changed(topology: Topology, ratio: float = 0.3, seed: int = 1) -> Topology:
    """Another tree over the same brokers."""
    place = {id: n for n, id in enumerate(topology.ids)}
    links = frozenset((min(place[a], place[b]), max(place[a], place[b])) for a, b in topology.by_ends)
    rng = Random(seed)
    return _tree(topology.brokers, changed_tree(links, ratio, rng), rng)


def traffic(goal: Topology, seed: int = 2) -> Traffic:
    """Messages between neighbours in `goal`, so that it is the better tree."""
    rng = Random(seed)
    pairs = [link.ends for link in goal.links]
    classes = [TrafficClass(frozenset(pair), float(rng.randrange(5, 60))) for pair in pairs]
    crowd = [frozenset(rng.sample(goal.ids, min(4, len(goal.ids)))) for _ in range(len(pairs) // 3)]
    return (*classes, *(TrafficClass(members, float(rng.randrange(1, 10))) for members in crowd))


def planned(current: Topology, goal: Topology) -> Plan:
    plan = make_plan(current, goal)
    assert not isinstance(plan, Infeasible)
    return plan


def numbers(topology: Topology, workload: Workload) -> dict[str, float | None]:
    return dict(assess(topology, workload, NUMBERS).numbers)


def topology_view(
    topology: Topology, workload: Workload, epoch: int, dead: frozenset[str], at: float
) -> v.TopologyView:
    parts = assess(topology, workload, ("load",)).parts
    link_load, broker_load = parts.get("link_load", {}), parts.get("broker_load", {})
    most = max((load or 0.0 for load in link_load.values()), default=0.0) or 1.0
    links = []
    for link in topology.links:
        load = link_load.get("-".join(link.ends)) or 0.0
        up = not dead & set(link.ends)
        links.append(
            v.LinkView(
                one=link.ends[0],
                other=link.ends[1],
                latency_ms=link.latency_ms,
                up=up,
                messages_per_second=load if up else 0.0,
                share=load / most if up else 0.0,
            )
        )
    brokers = tuple(broker_view(topology, id, broker_load.get(id), id not in dead) for id in topology.ids)
    located = all(each.latitude is not None for each in topology.brokers)
    return v.TopologyView(
        kind=topology.kind,
        epoch=epoch,
        sha256=topology.sha256,
        brokers=brokers,
        links=tuple(links),
        located=located,
        at=at,
    )


def broker_view(topology: Topology, id: str, load: float | None, alive: bool) -> v.BrokerView:
    broker = topology.brokers[topology.ids.index(id)]
    around = sorted(topology.neighbours[id])
    rng = Random(id)
    return v.BrokerView(
        id=id,
        host=broker.host,
        port=broker.port,
        region=broker.region,
        latitude=broker.latitude,
        longitude=broker.longitude,
        alive=alive,
        degree=len(around),
        neighbours=tuple(around),
        life=1,
        clients=rng.randrange(1, 40),
        sessions=rng.randrange(40, 50),
        queue_bytes=rng.randrange(0, 200_000) if alive else None,
        publications_per_second=load and load / 4,
        messages_per_second=load,
        bytes_in_per_second=load and load * 180,
        bytes_out_per_second=load and load * 190,
        cpu=rng.random() * 0.6 if alive else None,
        memory=rng.randrange(20, 90) * 2**20 if alive else None,
        links=dict.fromkeys(around, "up"),
    )


def plan_view(plan: Plan, current: Topology, goal: Topology, workload: Workload) -> v.PlanView:
    """The plan as the service shows it, with the traffic of a window of one second."""
    designer = TopologyDesigner(NetworkFacts(goal), Limits(), Policy(), PlanLimits())
    return preview(plan_document(plan, current, None), workload, 1.0, designer)


def after(topology: Topology, goal: Topology, step: tuple[object, ...]) -> Topology:
    """The overlay after one step; links take their latency from the goal where it has them."""
    links = dict(topology.by_ends)
    for action in step:
        change = effect(action)  # type: ignore[arg-type]
        if change.removes:
            links.pop(change.removes)
        if change.adds:
            links[change.adds] = goal.by_ends.get(change.adds) or Link(change.adds, 9.0)
    return Topology(topology.brokers, tuple(links.values()), topology.kind)


def without(topology: Topology, dead: str) -> Topology:
    """The overlay healed: the neighbours of the dead broker are joined in a star around one of them."""
    around = sorted(topology.neighbours[dead])
    links = [link for link in topology.links if dead not in link.ends]
    links += [Link(ends(around[0], other), 12.0) for other in around[1:]]
    brokers = tuple(broker for broker in topology.brokers if broker.id != dead)
    return Topology(brokers, tuple(links), topology.kind)


def _tree(brokers: tuple[Broker, ...], links: frozenset[tuple[int, int]], rng: Random) -> Topology:
    names = [broker.id for broker in brokers]
    made = (Link(ends(names[a], names[b]), round(rng.uniform(2, 40), 1)) for a, b in sorted(links))
    return Topology(brokers, tuple(made), "tree")
