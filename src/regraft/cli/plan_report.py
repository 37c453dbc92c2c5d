"""What `regraft plan` prints: a table and a summary for people, one object for programs."""

import json
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.plan_verdict import estimated_time, optimal, summary, total_cost
from regraft.cli.printing import console, shown
from regraft.model import Action, Infeasible, Limits, Plan

if TYPE_CHECKING:
    from regraft.cli.plan_request import PlanRequest
    from regraft.cli.watching import Watched

MOST_ACTIONS = 400
"""How many actions the table shows; -o and --json give all."""


def report(plans: list[Plan], request: "PlanRequest", limits: Limits, watched: "Watched[Any]") -> None:
    """The first plan in full; the others, if any, as the trade-off."""
    if request.as_json:
        answer = as_object(plans[0], limits) | timing(watched)
        if request.pareto:
            answer["pareto"] = [as_object(plan, limits) for plan in plans]
        click.echo(json.dumps(answer))
        return
    print_steps(plans[0])
    if request.pareto:
        print_tradeoff(plans, limits)
    click.echo(summary(plans[0], limits, watched.seconds))


def as_object(plan: Plan, limits: Limits) -> dict[str, Any]:
    """The documented fields of `--json`, with the whole plan."""
    document = plan.as_json()
    answer = {
        "steps": len(plan.steps),
        "actions": plan.actions,
        "planner": plan.planner,
        "bounds": document["bounds"],
        "optimal": optimal(plan, limits),
        "minimise": limits.minimise,
        "estimated_time": estimated_time(plan, limits),
        "plan": document["steps"],
        "proof": document["proof"],
        "kind": plan.kind,
        "initial": plan.initial,
        "goal": plan.goal,
        "sha256": plan.sha256,
    }
    return answer | {"cost": total_cost(plan, limits)} if limits.minimise == "cost" else answer


def timing(watched: "Watched[Any]") -> dict[str, Any]:
    return {"seconds": round(watched.seconds, 3), "interrupted": watched.interrupted}


def report_infeasible(no: Infeasible, request: "PlanRequest", watched: "Watched[Any]") -> int:
    """Why there is no plan, which limit is in the way, and where. Exit code 1, or 130 if interrupted."""
    if request.as_json:
        answer: dict[str, Any] = {
            "infeasible": no.reason,
            "limit": no.limit,
            "where": no.where,
            "proven": no.proven,
        }
        click.echo(json.dumps(answer | {"planner": request.planner} | timing(watched)))
    limit = f" (limit: {no.limit})" if no.limit else ""
    where = f" at {shown(no.where)}" if no.where else ""
    verdict = "there is no plan" if no.proven else "no plan found"
    click.echo(f"regraft: {verdict}: {no.reason}{limit}{where}", err=True)
    return 130 if watched.interrupted and not no.proven else 1


def print_steps(plan: Plan) -> None:
    from rich.table import Table
    from rich.text import Text

    if not plan.steps:
        click.echo("The two topologies are the same: nothing to do.")
        return
    table = Table("step", "actions", header_style="bold", show_lines=len(plan.steps) < plan.actions)
    left = MOST_ACTIONS
    for number, step in enumerate(plan.steps, 1):
        if left <= 0:
            break
        lines = [Text.assemble(*styled(action)) for action in step[:left]]
        if len(step) > left:
            lines.append(Text(f"and {len(step) - left} more", "dim"))
        table.add_row(str(number), Text("\n").join(lines))
        left -= len(step)
    console().print(table)
    if plan.actions > MOST_ACTIONS:
        click.echo(f"(the first {MOST_ACTIONS} of {plan.actions} actions; -o and --json give all)")


def styled(action: Action) -> list[tuple[str, str]]:
    """An action and what it means, with the operation in bold."""
    names = [shown(broker) for broker in action.brokers]
    means = {
        "shift": "{0}-{1} becomes {0}-{2}",
        "append": "{0} joins at {1}",
        "detach": "{0} leaves {1}",
        "link": "{0}-{1} is added",
        "unlink": "{0}-{1} is removed",
    }[action.operation]
    return [
        (action.operation, "bold"),
        (f"({', '.join(names)})", ""),
        (f"  {means.format(*names)}", "dim"),
    ]


def print_tradeoff(plans: list[Plan], limits: Limits) -> None:
    from rich.table import Table

    table = Table("steps", "actions", "estimated time", title="Trade-off", header_style="bold")
    for plan in plans:
        table.add_row(str(len(plan.steps)), str(plan.actions), str(estimated_time(plan, limits)))
    console().print(table)
