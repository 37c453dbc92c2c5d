"""What `regraft design ocbr` prints, after a check by code that did not make the design."""

import json
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.printing import console, shown
from regraft.model import Bounds, BrokenPlan, Ends, Limits, Plan, RegraftError, Topology

if TYPE_CHECKING:
    from regraft.cli.watching import Watched
    from regraft.design.ocbr import Cost, Design, Problem

MOST_ROWS = 20
MOST_SHIFTS = 3000
"""Up to this many shifts are replayed one by one; of a longer way, only the ends are checked."""


class WrongDesign(RegraftError):
    """The independent check refuses a design: a bug in Regraft."""


def check_design(problem: "Problem", before: Topology, design: "Design") -> None:
    """Raises `WrongDesign` unless the links are possible, `evaluate` finds the stated cost, and the stated
    shifts lead to the tree."""
    from regraft.evaluate.case import Case
    from regraft.evaluate.routing_cost import routing_cost
    from regraft.model.workload import Workload
    from regraft.plan.verify import verify

    if not problem.open and (foreign := design.topology.by_ends.keys() - problem.link_cost.keys()):
        raise WrongDesign(f"the link {min(foreign)} is not possible")
    case = Case(design.topology, Workload(traffic=problem.traffic), problem.alpha, problem.beta)
    cost = routing_cost(case).numbers.get("routing_cost") or 0.0
    for said in (design.cost.total, design.before.total - design.way.saves):
        if abs(cost - said) > 1e-6 * max(1.0, abs(design.before.total)):
            raise WrongDesign(f"the design says it costs {said}, the evaluation {cost}")
    if design.way.shifts <= MOST_SHIFTS:
        steps = tuple((action,) for each in design.way.exchanges for action in each.shifts)
        plan = Plan("tree", before.sha256, design.topology.sha256, steps, "ocbr", Bounds(0, 0))
        try:
            verify(plan, before, design.topology, Limits())
        except BrokenPlan as fault:
            raise WrongDesign(f"the way to the design is broken: {fault}") from fault


def report(
    problem: "Problem", before: Topology, design: "Design", watched: "Watched[Any]", as_json: bool
) -> None:
    if as_json:
        answer = as_object(problem, design)
        timing = {"seconds": round(watched.seconds, 3), "interrupted": watched.interrupted}
        click.echo(json.dumps(answer | timing))
        return
    if design.way.exchanges:
        print_exchanges(design)
    print_links(problem, design)
    click.echo(summary(design, watched.seconds))


def as_object(problem: "Problem", design: "Design") -> dict[str, Any]:
    """The documented fields of `--json`; `valid` is true because `check_design` has accepted the design."""
    degrees = [len(near) for near in design.topology.neighbours.values()]
    return {
        "method": design.method,
        "brokers": len(problem.ids),
        "classes": len(problem.traffic),
        "edges": len(design.topology.links),
        "average_degree": sum(degrees) / len(degrees),
        "max_degree": max(degrees),
        "valid": True,
        **_costs(design.cost),
        "before": _costs(design.before),
        "saved": _saved(design),
        "bound": design.bound.value,
        "bound_by": design.bound.by,
        "gap": design.gap if design.gap < float("inf") else None,
        "optimal": design.optimal,
        "shifts": design.way.shifts,
        "exchanges": [
            {"added": each.added, "removed": each.removed, "saves": each.saves, "shifts": len(each.path) - 2}
            for each in design.way.exchanges
        ],
        "loads": [
            {"ends": pair, "demand": load, "cost": cost} for pair, load, cost in loads(problem, design)
        ],
        "links": sorted(design.topology.by_ends),
        "sha256": design.topology.sha256,
    }


def _costs(cost: "Cost") -> dict[str, float]:
    return {"routing_cost": cost.total, "link_cost": cost.links, "broker_cost": cost.brokers}


def _saved(design: "Design") -> float:
    """The part of the cost that is saved."""
    return 1 - design.cost.total / design.before.total if design.before.total else 0.0


def loads(problem: "Problem", design: "Design") -> list[tuple[Ends, float, float]]:
    """Every link with the demand that crosses it and what that costs, the dearest first."""
    from regraft.design.ocbr import link_loads

    cost = {pair: link.cost for pair, link in design.topology.by_ends.items()}
    found = link_loads(problem, problem.parents(design.topology.by_ends))
    rows = [(pair, load, problem.alpha * cost[pair] * load) for pair, load in found.items()]
    return sorted(rows, key=lambda row: (-row[2], row[0]))


def print_exchanges(design: "Design") -> None:
    from rich.table import Table

    table = Table("new link", "instead of", "saves", "shifts", title="What the links were worth")
    for each in design.way.exchanges[:MOST_ROWS]:
        share = 100 * each.saves / design.before.total if design.before.total else 0.0
        saves = f"{each.saves:,.6g} ({share:.1f} %)"
        table.add_row(_pair(each.added), _pair(each.removed), saves, str(len(each.path) - 2))
    console().print(table)
    if len(design.way.exchanges) > MOST_ROWS:
        click.echo(f"(the first {MOST_ROWS} of {len(design.way.exchanges)}; --json gives all)")


def print_links(problem: "Problem", design: "Design") -> None:
    from rich.table import Table

    table = Table("link", "messages", "cost", title="The dearest links now")
    for pair, load, cost in loads(problem, design)[: MOST_ROWS // 2]:
        table.add_row(_pair(pair), f"{load:,.6g}", f"{cost:,.6g}")
    if table.row_count:
        console().print(table)


def _pair(pair: Ends) -> str:
    return f"{shown(pair[0])} - {shown(pair[1])}"


def summary(design: "Design", seconds: float) -> str:
    """`Cost 900 instead of 1,200 (25 % less), proven best; 4 exchanges in 7 shifts; global, 2.0 s.`"""
    if design.optimal:
        quality = "proven best"
    elif design.gap < float("inf"):
        quality = f"at most {100 * design.gap:.1f} % above the best possible"
    else:
        quality = "no bound known"
    saved = f"{100 * _saved(design):.1f} % less" if design.way.exchanges else "nothing better found"
    count = len(design.way.exchanges)
    return (
        f"Cost {design.cost.total:,.6g} instead of {design.before.total:,.6g} ({saved}), {quality}; "
        f"{count} exchange{'' if count == 1 else 's'} in {design.way.shifts} shifts; "
        f"{design.method}, {seconds:.1f} s."
    )
