"""`regraft plan FROM TO`: plans the steps from one topology to another; touches nothing."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli import plan_options
from regraft.cli.help_headings import Command, advanced, under
from regraft.cli.plan_options import check_places
from regraft.cli.plan_request import PlanRequest, check_brokers, check_options, invariant, read_pair
from regraft.cli.watching import run_watched
from regraft.model import Infeasible, Limits, Plan, RegraftError, Topology
from regraft.model.files import shown
from regraft.model.plan_files import write_plan

if TYPE_CHECKING:
    from regraft.plan.watch import Watch

FILE = click.Path(path_type=Path)
COMMANDLINE = click.core.ParameterSource.COMMANDLINE


@click.command(cls=Command)
@click.argument("from_", metavar="FROM", type=FILE)
@click.argument("to", metavar="TO", type=FILE)
@click.option(
    "--planner",
    default="fast",
    show_default=True,
    metavar="NAME",
    callback=plan_options.planner_name,
    help="fast: any size, improves until the time limit. exact: proves the fewest steps and actions. "
    "exact-each-path, exact-all-paths: the same over fewer actions. ip-naive, ip-all-paths, ip-each-path: "
    "the published integer program on HiGHS; ip-naive-cp-sat, ip-all-paths-cp-sat, ip-each-path-cp-sat: "
    "on CP-SAT. best-first: the published search.",
)
@click.option(
    "--minimise",
    type=click.Choice(["steps", "actions", "time", "cost"]),
    help="What comes first: steps (then actions; the default), actions (then steps), the estimated "
    "execution time, or the total cost of the actions (the default with --cost or --costs).",
)
@click.option(
    "--pareto", is_flag=True, help="List the trade-off of steps and actions; the first plan is the answer."
)
@click.option(
    "--max-degree",
    type=click.IntRange(1, plan_options.MOST_LINKS),
    metavar="N",
    help="No broker has more than N links at any moment.",
)
@click.option(
    "--exclusive", is_flag=True, help="No broker takes part in two actions of one step.", **advanced()
)
@click.option(
    "--operations",
    default="shift,append,detach",
    show_default=True,
    metavar="LIST",
    callback=plan_options.operations,
    help="What the plan may use, of shift, append, detach, move. A move, the exchange of one link for "
    "another, is listed and carried out as shifts: it finds plans within tight limits.",
)
@click.option(
    "--costs", type=FILE, metavar="FILE", help="Costs of operations and of single actions.", **advanced()
)
@click.option(
    "--cost",
    multiple=True,
    metavar="OPERATION=N",
    callback=plan_options.costs,
    help="Cost of an operation, such as append=4; may be repeated.",
    **advanced(),
)
@click.option(
    "--time-limit",
    type=float,
    metavar="SECONDS",
    callback=plan_options.seconds,
    help="Stop improving or proving then.  [default: 2 for fast, 60 for the others]",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 1024),
    metavar="N",
    default=Limits.threads,
    show_default=True,
    **advanced(),
    help="How many threads the planner uses.",
)
@plan_options.SEED
@click.option(
    "--kind", type=click.Choice(["tree", "mesh"]), help="Read both files as this kind.", **advanced()
)
@click.option(
    "--interest",
    metavar="PLACE",
    help="Meshes: node,topic, or measured tables. Every topic stays k-connected (without it, the mesh "
    "stays connected).",
    **under("Meshes"),
)
@click.option(
    "-k",
    "--k",
    type=click.IntRange(min=1),
    metavar="K",
    default=1,
    show_default=True,
    help="Meshes: fewer than K failures never cut a topic.",
    **under("Meshes"),
)
@click.option("-o", "--output", type=FILE, metavar="PLAN", help="Write the plan to this file.")
@click.option(
    "--draw", "picture", type=FILE, metavar="FILE", help="Draw before, each step, after (.svg, .png, .pdf)."
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="On success, print one JSON object; if there is no plan, one that says why (exit code 1). On "
    "bad input (exit code 2) standard output stays empty.",
)
@click.pass_context
def plan(context: click.Context, /, **options: Any) -> None:
    """Plan the fewest safe steps from topology FROM to topology TO.

    Files are JSON, GraphML or GML. A tree changes by shift(i, j, k): the link i-j becomes i-k while
    j-k holds the tree together; the actions of a step may run at once, in any order. Brokers that
    join are appended first, those that leave are detached last. A mesh changes by link and unlink.
    Every plan is replayed by an independent check before you see it. Ctrl-C gives the best so far.

    \b
    A topology file:  {"brokers": ["a", "b", "c"], "links": [["a", "b"], ["b", "c"]], "kind": "tree"}
    A costs file:     {"shift": 1, "append": 4, "actions": [{"action": ["shift", "a", "b", "c"], "cost": 7}]}

    \b
    Examples:
      regraft plan now.json better.json -o plan.json --draw plan.svg
      regraft plan now.json better.json --planner exact --time-limit 60
      regraft plan now.json better.json --max-degree 5 --operations shift,move --json
      regraft plan mesh1.json mesh2.json --interest interest.csv -k 2
    """
    given = frozenset(name for name in options if context.get_parameter_source(name) is COMMANDLINE)
    asked = options | {"given": given}
    context.exit(run(PlanRequest(**{field.name: asked[field.name] for field in fields(PlanRequest)})))


def run(request: PlanRequest) -> int:
    """Read, plan, report; the exit code."""
    from regraft.cli.plan_report import report, report_infeasible

    check_options(request)
    check_places(request.output, request.picture, request.inputs())
    current, goal = read_pair(request)
    if request.picture:
        from regraft.cli.plan_draw import check_picture

        check_picture(current, goal, request.picture)
    limits = request.limits()
    check_brokers(request, current, goal, limits)
    watched = run_watched(
        lambda watch: find(request, current, goal, limits, watch), limits.time_limit, quiet=request.as_json
    )
    found = watched.result
    if isinstance(found, Infeasible):
        return report_infeasible(found, request, watched)
    written, faults = write(found[0], current, goal, request)
    report(found, request, limits, watched)
    if not request.as_json:
        for name, path in written.items():
            click.echo(f"{name} written to {shown(path)}", err=True)
    if faults:
        raise RegraftError("; ".join(faults))
    return 0


def write(
    plan: Plan, current: Topology, goal: Topology, request: PlanRequest
) -> tuple[dict[str, Path], list[str]]:
    """Writes the files; returns those written, and the faults of the others.

    A full disk must not cost the plan that was found. This comes before the report, because its reader may
    end early (`| head`).
    """
    written: dict[str, Path] = {}
    faults: list[str] = []
    for name, path in (("plan", request.output), ("picture", request.picture)):
        if path is None:
            continue
        try:
            if name == "plan":
                write_plan(plan, path)
            else:
                from regraft.cli.plan_draw import draw_plan

                draw_plan(plan, current, goal, path)
            written[name] = path
        except RegraftError as fault:
            faults.append(str(fault))
    return written, faults


def find(
    request: PlanRequest, current: Topology, goal: Topology, limits: Limits, watch: "Watch"
) -> list[Plan] | Infeasible:
    """The plans for the request, the best first."""
    from regraft.plan import make_mesh_plan, make_plan, pareto

    if current.kind == "mesh":
        keeps = invariant(request, current, goal)
        found = make_mesh_plan(current, goal, limits, keeps, watch)
    elif request.pareto:
        return pareto(current, goal, limits, request.planner, watch)
    else:
        found = make_plan(current, goal, limits, request.planner, watch)
    return found if isinstance(found, Infeasible) else [found]
