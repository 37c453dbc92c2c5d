"""`regraft design gm|gm2|harary|cycle|greedy-k`: a mesh in which fewer than k failures cut no topic."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.help_headings import Command, advanced
from regraft.cli.pictures import check_size
from regraft.cli.plan_options import MOST_LINKS, check_places
from regraft.cli.printing import progress_bar
from regraft.cli.watching import Watched, run_watched
from regraft.model import BadInput, Ends, Infeasible, RegraftError
from regraft.model.interest_files import read_interest
from regraft.model.topology_files import read_topology, write_topology

if TYPE_CHECKING:
    from regraft.design import MeshDesign, MeshOptions
    from regraft.plan.watch import Watch

FILE = click.Path(path_type=Path)
NO_LIMIT = 1e9
"""Seconds. The effort of a design is a number of trials, not a time, so that a seed decides the result."""
ABOUT: dict[str, tuple[int | None, str]] = {
    "gm": (1, "Greedy Merge: the next link joins the most components (k = 1)."),
    "gm2": (2, "GM2: the next link helps the most topics (k = 2)."),
    "harary": (None, "HararyPT: a Harary graph per topic over one sequence (any k)."),
    "cycle": (2, "CyclePT: a cycle per topic, nothing shared (k = 2); a yardstick."),
    "greedy-k": (None, "The most useful link first (any k); the fewest links."),
}
"""Each method, the only k that it designs for (None: any), and its summary. Each is a command."""
ANY_K = tuple(method for method, (k, _) in ABOUT.items() if k is None)
MORE = """

    Fewer than k failures among the nodes of a topic never cut it; a topic of at most k nodes becomes a
    clique, one of a single node gets no link. After the published algorithm, redundant links are removed
    and links exchanged (--faithful leaves that out). The result is checked independently. Ctrl-C ends the
    exchanging early.

    \b
    An interest file:  node,topic
                       n1,weather
                       n2,weather

    \b
    Example:
      regraft design {method} --interest interest.csv -o mesh.json --draw mesh.svg
      regraft design {method} --interest tables --topology now.json -o mesh.json
"""


@dataclass(frozen=True)
class MeshRequest:
    """What the user asked for; the names are those of the options."""

    method: str
    interest: str
    topology: Path | None
    k: int
    max_degree: int | None
    network: Path | None
    effort: float
    faithful: bool
    part: int | None
    seed: int
    output: Path | None
    picture: Path | None
    as_json: bool

    def options(self) -> "MeshOptions":
        from regraft.design import MeshOptions

        latency = read_latency(self.network) if self.network else {}
        return MeshOptions(self.k, self.max_degree, latency, self.seed, self.effort, self.faithful, self.part)


def command(method: str) -> click.Command:
    """The command of one method; all take the same options."""
    k, summary = ABOUT[method]

    def run_it(**options: Any) -> None:
        click.get_current_context().exit(run(MeshRequest(method, **options)))

    run_it.__doc__ = summary + MORE.format(method=method)
    decorated: Callable[..., None] = run_it
    for option in reversed(options_of(k)):
        decorated = option(decorated)
    return click.command(method, cls=Command)(decorated)


def options_of(k: int | None) -> list[Callable[..., Any]]:
    whole = click.IntRange
    return [
        click.option(
            "--interest",
            required=True,
            metavar="PLACE",
            help="CSV or Parquet: node,topic; or measured tables (folder or address).",
        ),
        click.option(
            "--topology",
            type=FILE,
            metavar="FILE",
            help="The mesh that runs: brokers that want no topic keep their links.",
        ),
        _option_k(k),
        click.option("--max-degree", type=whole(1, MOST_LINKS), metavar="N", help="No node has more links."),
        click.option(
            "--network",
            type=FILE,
            metavar="FILE",
            help="A topology whose links have latency_ms: a link of the mesh costs the latency of the "
            "fastest path between its ends.",
        ),
        click.option(
            "--effort",
            type=click.FloatRange(0, 1e6),
            default=30.0,
            show_default=True,
            metavar="N",
            help="Exchanges tried per link; 0: only remove redundant links.",
            **advanced(),
        ),
        click.option(
            "--faithful",
            is_flag=True,
            help="The algorithm as it was published, nothing after it.",
            **advanced(),
        ),
        click.option(
            "--part",
            type=whole(2, MOST_LINKS),
            metavar="N",
            help="Divide and conquer: parts of N nodes.",
            **advanced(),
        ),
        click.option(
            "--seed",
            type=whole(0, 2**31 - 1),
            default=0,
            show_default=True,
            metavar="N",
            help="The same seed gives the same mesh.",
            **advanced(),
        ),
        click.option("-o", "--output", type=FILE, metavar="TOPOLOGY", help="Write the mesh to this file."),
        click.option("--draw", "picture", type=FILE, metavar="FILE", help="Draw it (.svg, .png, .pdf)."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    ]


def _option_k(k: int | None) -> Callable[..., Any]:
    if k is None:
        about = "Fewer than K failures cut no topic."
        return click.option(
            "-k", "--k", type=click.IntRange(1), default=2, show_default=True, metavar="K", help=about
        )
    about = f"{k}, and no other: {' and '.join(ANY_K)} take any K."
    return click.option("-k", "--k", type=int, default=k, metavar=str(k), help=about)


def run(request: MeshRequest) -> int:
    """Read, design, check, report; the exit code."""
    from regraft.cli.design_mesh_report import MeshReport, report, report_infeasible
    from regraft.design import beside, check
    from regraft.design.mesh import checked_k

    inputs = [path for path in (request.interest, request.network, request.topology) if path]
    check_places(request.output, request.picture, inputs)
    checked_k(request.method, request.k)
    interest = read_interest(request.interest)
    if not interest:
        raise BadInput(request.interest, "no node wants any topic: there is no row under the header")
    now = read_topology(request.topology) if request.topology else None
    if request.picture:
        check_size(len(frozenset().union(*interest.values())), "nodes", request.picture)
    watched = run_design(interest, request.method, request.options(), request.as_json)
    design = watched.result
    if isinstance(design, Infeasible):
        return report_infeasible(design, request)
    topology = beside(design.topology, now) if now is not None else design.topology
    cut = check(topology, interest, design.k)
    if request.output is not None and cut is None:
        write_topology(topology, request.output)
    answer = MeshReport.of(design, topology, interest, cut, watched)
    if request.picture is not None:
        from regraft.cli.design_mesh_draw import draw_mesh

        draw_mesh(topology, answer.serves, request.picture)
    report(answer, request)
    if cut is not None:
        raise RegraftError(f"{request.method} made an overlay that is not {design.k}-topic-connected: {cut}")
    return 0


def run_design(
    interest: Mapping[str, frozenset[str]], method: str, options: "MeshOptions", quiet: bool
) -> "Watched[MeshDesign | Infeasible]":
    """Runs the design, shown by a bar; Ctrl-C ends its exchanging early."""
    from regraft.design import design_mesh

    with progress_bar("designing", quiet) as update:

        def work(watch: "Watch") -> "MeshDesign | Infeasible":
            def tell(stage: str, done: float, links: int) -> bool:
                update(description=f"{stage}: {links:,} links" if links else stage, completed=done)
                return watch.stopped

            return design_mesh(interest, method, options, tell)

        return run_watched(work, NO_LIMIT, quiet=True)


def read_latency(path: Path) -> Mapping[Ends, float]:
    """The latency of each link of a network; every link must have one."""
    topology = read_topology(path)
    for link in topology.links:
        if link.latency_ms is None:
            raise BadInput(str(path), f"the link {link.ends[0]!r} - {link.ends[1]!r} has no latency_ms")
    if not topology.links:
        raise BadInput(str(path), "the network has no links")
    return {link.ends: float(link.latency_ms or 0.0) for link in topology.links}
