"""`regraft apply PLAN`: carries out a plan on the running overlay; resumes, takes back or controls a run."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.help_headings import Command, advanced, under
from regraft.cli.running_directory import WHICH_ZOOKEEPER, connected
from regraft.cli.zookeeper_options import Zookeeper, zookeeper_options
from regraft.model import BadInput, Plan, RegraftError, Topology

if TYPE_CHECKING:
    from regraft.coord import Coord, Layout
    from regraft.deploy.begin import RunSettings
    from regraft.deploy.deployer import Tell
    from regraft.model.outcome import Outcome

FILE = click.Path(path_type=Path)
COUNT = click.IntRange(0)
ORDERS = {"pause": "pause", "continue_": "run", "stop": "stop"}


@click.command(cls=Command)
@click.argument("plan", metavar="[PLAN]", type=FILE, required=False)
@click.option("--dry-run", is_flag=True, help="Check and replay it on the current topology; touch nothing.")
@click.option(
    "--resume",
    is_flag=True,
    help="Continue the run that was interrupted, stopped or has failed.",
    **under("A run that has begun"),
)
@click.option(
    "--rollback", is_flag=True, help="Take back what the run has done.", **under("A run that has begun")
)
@click.option(
    "--pause",
    is_flag=True,
    help="Tell the running deployer to begin nothing new for now.",
    **under("A run that has begun"),
)
@click.option(
    "--continue", "continue_", is_flag=True, help="Tell it to continue.", **under("A run that has begun")
)
@click.option(
    "--stop",
    is_flag=True,
    help="Tell it to stop after the changes that are under way.",
    **under("A run that has begun"),
)
@click.option(
    "--at-once",
    type=COUNT,
    default=0,
    metavar="N",
    help="How many changes at a time.  [default: no limit]",
    **advanced("pace and safety"),
)
@click.option(
    "--per-broker",
    type=COUNT,
    default=1,
    show_default=True,
    metavar="N",
    help="How many at a time at one broker. 0: no limit.",
    **advanced("pace and safety"),
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.1),
    default=10.0,
    show_default=True,
    help="How long a change may take to be ready; then it is aborted and tried again.",
    **advanced("pace and safety"),
)
@click.option(
    "--attempts",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="How often each change is tried.",
    **advanced("pace and safety"),
)
@click.option(
    "--queue-bytes",
    type=COUNT,
    default=0,
    metavar="N",
    help="Wait while a broker holds more.",
    **advanced("pace and safety"),
)
@click.option(
    "--latency-ms",
    type=click.FloatRange(0),
    default=0.0,
    metavar="N",
    help="Wait while a canary takes longer.",
    **advanced("pace and safety"),
)
@click.option(
    "--canaries",
    type=COUNT,
    default=3,
    show_default=True,
    metavar="N",
    help="Subscribers of test events, which audit the run.",
    **advanced("pace and safety"),
)
@click.option(
    "--token",
    default="",
    envvar="REGRAFT_TOKEN",
    help="Secret that lets the canaries in.",
    **advanced("TLS and tokens"),
)
@zookeeper_options
@WHICH_ZOOKEEPER
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Write the outcome there (JSON).")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as one JSON object.")
def apply(
    plan: Path | None,
    zookeeper: Zookeeper,
    directory: Path,
    output: Path | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Carry out PLAN, step by step, on the overlay that runs. Nothing is lost meanwhile.

    \b
    Ctrl-C stops after the changes that are under way; again, and it leaves at once.
    However it ends, --resume continues it and --rollback takes it back.
    From another terminal, --pause, --continue and --stop control the run.

    \b
    Examples:
      regraft apply plan.json --dry-run
      regraft apply plan.json
      regraft apply --rollback
    """
    from regraft.model.plan_files import read_plan

    mode = _mode(plan, options)
    wanted = read_plan(plan) if plan is not None else None
    settings = _settings(options)
    if mode in ORDERS:
        return connected(zookeeper, directory, lambda c, at: _ask(c, at, ORDERS[mode], as_json))
    if mode == "dry_run":
        assert wanted is not None
        return connected(zookeeper, directory, lambda c, at: _dry_run(c, at, wanted, as_json))
    outcome = connected(
        zookeeper, directory, lambda c, at: _carry_out(c, at, mode, wanted, settings, as_json=as_json)
    )
    if outcome is None:
        return 0
    return _report(outcome, output, as_json)


def _mode(plan: Path | None, options: dict[str, Any]) -> str:
    modes = [name for name in ("dry_run", "resume", "rollback", *ORDERS) if options[name]]
    if len(modes) > 1:
        raise BadInput("", "one of --dry-run, --resume, --rollback, --pause, --continue, --stop at a time")
    mode = modes[0] if modes else "execute"
    if plan is None and mode in ("execute", "dry_run"):
        raise BadInput("PLAN", "is missing: `regraft plan FROM TO -o PLAN` makes one")
    return mode


def _settings(options: dict[str, Any]) -> "RunSettings":
    from dataclasses import fields

    from regraft.deploy.begin import RunSettings

    if options["latency_ms"] and not options["canaries"]:
        raise BadInput("--latency-ms", "is measured with canaries, and --canaries is 0")
    return RunSettings(
        **{each.name: options[each.name] for each in fields(RunSettings) if each.name in options}
    )


def verify(plan: Plan, current: Topology, goal: Topology) -> None:
    """Replays the plan with every operation allowed: the planner's limits do not concern the deployer."""
    from regraft.model import Limits
    from regraft.model.limits import TREE_OPERATIONS
    from regraft.plan.verify import verify as replay

    replay(plan, current, goal, Limits(operations=frozenset(TREE_OPERATIONS)))


async def _ask(coord: "Coord", layout: "Layout", wanted: str, as_json: bool) -> int:
    from regraft.deploy.control import order_run
    from regraft.deploy.journal import deployer_of

    run = await order_run(coord, layout, wanted)
    by = await deployer_of(coord, layout)
    if as_json:
        click.echo(json.dumps({"run": run.id, "wanted": wanted, "deployer": by or None}))
    else:
        click.echo(f"run {run.id}: {wanted}; {by or 'no deployer runs now, the next one will know'}")
    return 0


async def _dry_run(coord: "Coord", layout: "Layout", plan: Plan, as_json: bool) -> int:
    from regraft.cli.apply_report import show_replay
    from regraft.deploy.begin import checked_topology, run_of
    from regraft.deploy.journal import expanded

    current = await checked_topology(coord, layout, plan, verify)
    show_replay(plan, current, expanded(run_of(plan, current), current)[0], as_json)
    return 0


async def _carry_out(
    coord: "Coord", layout: "Layout", mode: str, plan: Plan | None, settings: "RunSettings", *, as_json: bool
) -> "Outcome | None":
    from regraft.cli.apply_progress import progress_shown, stopped_by_interrupt
    from regraft.coord import CoordUnreachable, LeaseLost
    from regraft.deploy.control import order_run
    from regraft.deploy.execute import execute, resume, roll_back
    from regraft.deploy.journal import deployer_of
    from regraft.deploy.states import RunOrder

    if mode == "rollback" and (by := await deployer_of(coord, layout)):
        run = await order_run(coord, layout, RunOrder.ROLL_BACK)
        text = json.dumps({"run": run.id, "wanted": RunOrder.ROLL_BACK, "deployer": by})
        click.echo(text if as_json else f"run {run.id}: it is taken back by the {by}")
        return None

    async def work(tell: "Tell") -> "Outcome":
        if mode == "execute":
            assert plan is not None
            return await execute(plan, coord, layout, verify, settings, tell)
        going = resume if mode == "resume" else roll_back
        return await going(coord, layout, settings, tell, plan)

    with progress_shown(quiet=as_json) as tell:
        try:
            return await stopped_by_interrupt(work(tell), coord, layout)
        except (LeaseLost, CoordUnreachable) as fault:
            raise RegraftError(f"{fault}; it can be continued with --resume") from None


def _report(outcome: "Outcome", output: Path | None, as_json: bool) -> int:
    from regraft.cli.apply_report import show_outcome
    from regraft.model.files import write_text

    if output is not None:
        write_text(output, json.dumps(outcome.as_json(), indent=1) + "\n")
    show_outcome(outcome, as_json)
    clean = outcome.canaries is None or outcome.canaries.clean
    return 0 if outcome.goal and clean else 1
