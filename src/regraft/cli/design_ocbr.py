"""`regraft design ocbr`: a broker tree that costs the measured traffic less."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli import plan_options
from regraft.cli.help_headings import Command, advanced
from regraft.cli.pictures import check_size
from regraft.cli.plan_options import check_places
from regraft.cli.printing import progress_bar
from regraft.cli.watching import Watched, run_watched
from regraft.model import BadInput, Topology
from regraft.model.files import shown
from regraft.model.topology_files import read_topology, write_topology
from regraft.model.traffic_files import read_traffic

if TYPE_CHECKING:
    from regraft.design.ocbr import Design, Problem, Progress
    from regraft.plan.watch import Watch

FILE = click.Path(path_type=Path)


@click.command(cls=Command)
@click.option(
    "--traffic",
    required=True,
    metavar="PLACE",
    help="Traffic classes: JSON, Parquet, or measured tables (folder or address).",
)
@click.option(
    "--topology", type=FILE, metavar="FILE", help="The tree as it is now; without it, one over the network."
)
@click.option(
    "--network",
    type=FILE,
    metavar="FILE",
    help="The possible links with their costs; without it, every pair is possible at cost 1.",
)
@click.option("--alpha", type=float, default=1.0, show_default=True, help="Weight of the cost of links.")
@click.option("--beta", type=float, default=1.0, show_default=True, help="Weight of the cost of brokers.")
@click.option(
    "--budget",
    type=click.IntRange(0, 10**9),
    metavar="SHIFTS",
    help="The best tree within this many shifts.",
)
@click.option(
    "--method",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "global", "neighbourhoods", "exact"]),
    help="auto: a proven tree where that is quick, else global. global: search over all trees. "
    "neighbourhoods: the published algorithm. exact: proven, up to 18 brokers.",
)
@click.option(
    "--time-limit",
    type=float,
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    callback=plan_options.seconds,
    help="Stop searching then.",
)
@click.option(
    "--moves",
    type=click.IntRange(0, 10**12),
    metavar="N",
    help="Stop after N moves: with a generous --time-limit, the same seed gives the same tree.",
    **advanced(),
)
@plan_options.SEED
@click.option("-o", "--output", type=FILE, metavar="TOPOLOGY", help="Write the tree to this file.")
@click.option(
    "--draw",
    "picture",
    type=FILE,
    metavar="FILE",
    help="Draw both trees with their loads (.svg, .png, .pdf).",
)
@click.option("--json", "as_json", is_flag=True, help="On success, print one JSON object.")
@click.pass_context
def ocbr(context: click.Context, /, **options: Any) -> None:
    """Design the broker tree that costs the measured traffic least.

    The cost of a tree is, over all messages, alpha times the costs of the links and beta times the costs
    of the brokers that each crosses. Costs are in the topology or network file (default 1). The answer
    says what every exchanged link saves, how many shifts it takes, and how far from the best possible the
    tree can be. Ctrl-C gives the best so far.

    \b
    A traffic file:  {"classes": [{"members": ["b1", "b7", "b9"], "demand": 5}]}
    A network file:  {"kind": "mesh", "brokers": ["b1", "b7", "b9"],
                      "links": [{"ends": ["b1", "b7"], "cost": 3}, ["b7", "b9"]]}

    \b
    Examples:
      regraft design ocbr --traffic traffic.json --topology now.json -o better.json
      regraft design ocbr --traffic traffic.parquet --topology now.json --network possible.json --budget 10
      regraft plan now.json better.json
    """
    context.exit(run(TreeRequest(**options)))


@dataclass(frozen=True)
class TreeRequest:
    """What the user asked for; the names are those of the options."""

    traffic: str
    topology: Path | None
    network: Path | None
    alpha: float
    beta: float
    budget: int | None
    method: str
    time_limit: float
    moves: int | None
    seed: int
    output: Path | None
    picture: Path | None
    as_json: bool


def run(request: TreeRequest) -> int:
    """Read, design, check, report; the exit code."""
    from regraft.cli.design_ocbr_report import check_design, report

    inputs = [path for path in (request.traffic, request.topology, request.network) if path]
    check_places(request.output, request.picture, inputs)
    problem, topology = read_problem(request)
    if request.picture:
        check_size(len(problem.ids), "brokers", request.picture)
    watched = run_design(problem, topology, request)
    design = watched.result
    before = topology or _before(problem, design)
    check_design(problem, before, design)
    for path in (request.output, request.picture):
        if path is not None:
            _write(problem, before, design, path, path is request.picture)
    report(problem, before, design, watched, request.as_json)
    return 0


def read_problem(request: TreeRequest) -> "tuple[Problem, Topology | None]":
    """The problem and the tree to start from; faults name the file that they are in."""
    from regraft.design.ocbr import Problem

    traffic = read_traffic(request.traffic)
    topology = read_topology(request.topology) if request.topology else None
    network = read_topology(request.network) if request.network else None
    if topology is not None and topology.kind != "tree":
        raise BadInput(str(request.topology), "a tree is needed, this is a mesh (--network takes meshes)")
    if topology is None and network is None:
        raise BadInput("--topology", "give the tree as it is now, or a --network to design from scratch")
    if topology is None and request.budget is not None:
        raise BadInput("--budget", "counts shifts from the --topology, which is not given")
    try:
        return Problem.of(topology, traffic, network, request.alpha, request.beta), topology
    except BadInput as fault:
        files = {"classes": request.traffic, "network": request.network}
        name = fault.place.partition("[")[0]
        if name in files:
            place = "" if name == "network" else fault.place
            raise BadInput(place, fault.rule).within(shown(str(files[name]))) from None
        raise BadInput(f"--{fault.place}", fault.rule) from None


def run_design(problem: "Problem", topology: Topology | None, request: TreeRequest) -> "Watched[Design]":
    """Runs the design, shown by a bar and ended early by Ctrl-C."""
    from regraft.design.ocbr import Effort, propose_tree
    from regraft.design.ocbr.warm import warm

    with progress_bar("designing", request.as_json) as update:
        warm()

        def work(watch: "Watch") -> "Design":
            def tell(progress: "Progress") -> None:
                done, text = watch.elapsed / watch.seconds, f"{progress.doing}: {progress.cost:,.6g}"
                update(completed=min(1.0, done), description=text)

            effort = Effort(request.moves, lambda: watch.expired, tell, lambda: watch.elapsed / watch.seconds)
            return propose_tree(problem, topology, request.method, request.budget, effort, request.seed)

        return run_watched(work, request.time_limit, quiet=True)


def _before(problem: "Problem", design: "Design") -> Topology:
    """The tree that the design starts from: all its exchanges taken back."""
    links = set(design.topology.by_ends)
    for each in reversed(design.way.exchanges):
        links = (links - {each.added}) | {each.removed}
    return problem.topology(problem.parents(links))


def _write(problem: "Problem", before: Topology, design: "Design", path: Path, is_picture: bool) -> None:
    if is_picture:
        from regraft.cli.design_ocbr_draw import draw_design

        draw_design(problem, before, design, path)
    else:
        write_topology(design.topology, path)
    click.echo(f"{'picture' if is_picture else 'topology'} written to {shown(path)}", err=True)
