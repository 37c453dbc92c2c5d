"""The outcome of a run, and what a plan would do (`--dry-run`), for people and for programs."""

import json
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.printing import console, shown
from regraft.deploy.records import Current, Doing
from regraft.model import Action, Plan
from regraft.model.outcome import CanaryOutcome, Outcome
from regraft.model.phrases import counted

if TYPE_CHECKING:
    from collections.abc import Sequence


def show_replay(plan: Plan, current: Current, steps: "Sequence[Sequence[Doing]]", as_json: bool) -> None:
    changes = sum(len(doing.changes) for step in steps for doing in step)
    if as_json:
        document: dict[str, Any] = {
            "dry_run": True,
            "plan": plan.sha256,
            "epoch": current.epoch,
            "steps": [[list(doing.action) for doing in step] for step in steps],
            "actions": plan.actions,
            "changes": changes,
            "goal": plan.goal,
        }
        click.echo(json.dumps(document))
        return
    for number, step in enumerate(plan.steps, 1):
        click.echo(f"step {number}: {', '.join(shown(str(action)) for action in step)}")
    sizes = (len(plan.steps), "step"), (plan.actions, "action"), (changes, "change")
    size = ", ".join(counted(number, name) for number, name in sizes)
    click.echo(f"{size} would lead to {plan.goal[:12]}; nothing has been touched")


def show_outcome(outcome: Outcome, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(outcome.as_json()))
        return
    from rich.table import Table

    table = Table("step", "action", "state", "attempts", "ms", box=None, pad_edge=False)
    for each in outcome.actions:
        action = Action(each.action[0], each.action[1:])
        spent = "-" if each.seconds is None else f"{1000 * each.seconds:.0f}"
        table.add_row(str(each.step), shown(str(action)), each.state, str(each.attempts), spent)
    console().print(table)
    click.echo(_sentence(outcome))
    if outcome.canaries is not None:
        click.echo(_canaries(outcome.canaries))
    elif outcome.no_canaries:
        click.echo(f"no canaries: {outcome.no_canaries}")


def _sentence(outcome: Outcome) -> str:
    what = "taken back" if outcome.back else "carried out"
    done = sum(each.state == "done" for each in outcome.actions)
    words = {"done": what, "stopped": "stopped", "failed": f"failed: {outcome.reason}"}
    size = f"{done} of {len(outcome.actions)} actions in {outcome.seconds:.2f} s"
    where = f"the topology is {outcome.topology.sha256[:12]}, epoch {outcome.epoch}"
    reached = "as it was before" if outcome.back else "the goal"
    goal = reached if outcome.goal else f"not {reached}"
    more = "" if outcome.goal else "; continue with --resume, or take it back with --rollback"
    return f"run {outcome.run} {words.get(outcome.state, outcome.state)}: {size}; {where}: {goal}{more}"


def _canaries(seen: CanaryOutcome) -> str:
    to = f"from {shown(seen.publisher)} to {len(seen.subscribers)} subscribers"
    fate = f"{seen.lost} lost, {seen.duplicated} duplicated, {seen.reordered} reordered"
    late = "" if seen.p50_ms is None else f"; latency {seen.p50_ms:.1f} ms, 99 % within {seen.p99_ms:.1f} ms"
    return f"canaries: {seen.published} {to}, {seen.delivered} delivered, {fate}{late}"
