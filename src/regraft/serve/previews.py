"""A plan step by step: the overlay after each step, its cost, and which traffic gains or loses in the end."""

from collections.abc import Iterable, Sequence

from regraft.estate.windows import fitting
from regraft.evaluate.assess import compare
from regraft.model import Action, Broker, Ends, Kind, Link, Plan, Topology, ends
from regraft.model.assessment import ClassChange
from regraft.model.changes import apply
from regraft.model.plan_files import plan_from
from regraft.model.workload import Workload
from regraft.serve import views as v
from regraft.serve.designing import TopologyDesigner
from regraft.serve.history import PlanDocument

MOST_CLASSES = 20


def preview(
    stored: PlanDocument, workload: Workload, seconds: float, designer: TopologyDesigner
) -> v.PlanView:
    """`workload` is that of the window in which the plan was made; empty if it is no longer kept."""
    plan = plan_from(stored.document)
    kind: Kind = "mesh" if stored.kind == "mesh" else "tree"
    start = _topology(stored.brokers, [ends(*link) for link in stored.links], kind)
    steps = list(_steps(plan, start, workload, seconds, designer))
    goal = _topology(steps[-1].brokers, steps[-1].links, kind)
    both = [designer.network.annotated(each) for each in (start, goal)]
    known = fitting(fitting(workload, start), goal)
    found = compare(both[0], both[1], known, ("routing-cost",), designer.alpha, designer.beta, MOST_CLASSES)
    return v.PlanView(
        sha256=plan.sha256,
        kind=kind,
        initial=plan.initial,
        goal=plan.goal,
        planner=plan.planner,
        optimal=plan.optimal,
        bound_steps=plan.bounds.steps,
        bound_actions=plan.bounds.actions,
        steps=tuple(steps),
        gains=tuple(map(_class, found.gains)),
        losses=tuple(map(_class, found.losses)),
        better=found.better,
        worse=found.worse,
        same=found.same,
        document=dict(stored.document),
    )


def _steps(
    plan: Plan, start: Topology, workload: Workload, seconds: float, designer: TopologyDesigner
) -> Iterable[v.StepView]:
    brokers, links = list(start.ids), sorted(start.by_ends)
    numbers = _numbers(start, workload, seconds, designer)
    yield _step(0, (), brokers, links, numbers, None, None)
    cost, topology = numbers.get("routing_cost"), start
    for number, step in enumerate(plan.steps, 1):
        rates = designer.rates(designer.network.annotated(topology), fitting(workload, topology), seconds)
        actions = []
        for action in step:
            there = set(links)
            brokers, links = apply((action.operation, *action.brokers), brokers, links)
            actions.append(_action(action, there, set(links), rates))
        topology = _topology(brokers, links, start.kind)
        numbers = _numbers(topology, workload, seconds, designer)
        now = numbers.get("routing_cost")
        difference = now - cost if now is not None and cost is not None else None
        waiting = [each.messages_per_second or 0.0 for each in actions]
        buffered = sum(waiting) * designer.policy.action_seconds if rates else None
        yield _step(number, tuple(actions), brokers, links, numbers, difference, buffered)
        cost = now


def _step(
    number: int,
    actions: tuple[v.ActionView, ...],
    brokers: Sequence[str],
    links: Sequence[Ends],
    numbers: dict[str, float | None],
    change: float | None,
    buffered: float | None,
) -> v.StepView:
    return v.StepView(
        step=number,
        actions=actions,
        links=tuple(links),
        brokers=tuple(brokers),
        numbers=numbers,
        cost_change=change,
        buffered=buffered,
    )


def _action(action: Action, before: set[Ends], after: set[Ends], rates: dict[Ends, float]) -> v.ActionView:
    removed = tuple(sorted(before - after))
    return v.ActionView(
        operation=action.operation,
        brokers=action.brokers,
        text=str(action),
        added=tuple(sorted(after - before)),
        removed=removed,
        messages_per_second=sum(rates.get(pair, 0.0) for pair in removed) if rates else None,
    )


def _numbers(
    topology: Topology, workload: Workload, seconds: float, designer: TopologyDesigner
) -> dict[str, float | None]:
    return dict(designer.seen(designer.network.annotated(topology), workload, seconds).assessment.numbers)


def _topology(brokers: Iterable[str], links: Iterable[Ends], kind: Kind) -> Topology:
    return Topology(tuple(map(Broker, brokers)), tuple(map(Link, links)), kind)


def _class(change: ClassChange) -> v.ClassView:
    return v.ClassView(members=change.members, demand=change.demand, before=change.before, after=change.after)
