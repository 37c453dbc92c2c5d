"""`regraft evaluate TOPOLOGY [OTHER]`: what a topology costs, or two side by side and why they differ."""

import json
import math
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.model import BadInput, Topology
from regraft.model.interest_files import read_interest
from regraft.model.topology_files import read_topology
from regraft.model.traffic_files import read_traffic
from regraft.model.workload import Workload

if TYPE_CHECKING:
    from regraft.model.assessment import Assessment, Comparison

FILE = click.Path(path_type=Path)
OBJECTIVES = ("routing-cost", "degree", "load", "latency", "topic-diameter", "fault-tolerance")
"""As `regraft.evaluate` has them; repeated so that --help does not load it."""


def _weight(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if not math.isfinite(value) or value < 0:
        raise click.BadParameter(f"must be a finite number from 0, not {value:g}", context, parameter)
    return value


@click.command()
@click.argument("topology", type=FILE)
@click.argument("other", type=FILE, required=False)
@click.option("--traffic", type=FILE, metavar="FILE", help="Traffic classes: JSON or Parquet. For trees.")
@click.option("--interest", type=FILE, metavar="FILE", help="Columns node,topic. For topics in meshes.")
@click.option(
    "--alpha", type=float, default=1.0, show_default=True, callback=_weight, help="Weight of links' costs."
)
@click.option(
    "--beta", type=float, default=1.0, show_default=True, callback=_weight, help="Weight of brokers' costs."
)
@click.option(
    "--objective",
    "objectives",
    multiple=True,
    type=click.Choice(OBJECTIVES),
    help="Only this one; may be repeated.  [default: all that the files allow]",
)
@click.option(
    "--parts", is_flag=True, help="Also each link's and broker's load, each topic's k and diameter."
)
@click.option(
    "--classes",
    "most",
    type=click.IntRange(0, 1_000_000),
    default=10,
    show_default=True,
    metavar="N",
    help="With two topologies: list N classes that gain most and N that lose most.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on success.")
def evaluate(topology: Path, other: Path | None, as_json: bool, **options: Any) -> None:
    """Judge TOPOLOGY for the traffic and the interest at hand; with OTHER, compare the two.

    The routing cost of a tree is that of every class' spanning subtree: alpha times the cost of its
    links plus beta times the cost of its brokers, times the class' demand. Costs of links and brokers
    are in the topology file ("cost", 1 if it does not say). For topics: the largest k for which every
    topic survives fewer than k failures (null: any k), and the topics' diameters.

    \b
    Examples:
      regraft evaluate tree.json --traffic traffic.json
      regraft evaluate now.json better.json --traffic traffic.parquet --json
      regraft evaluate mesh.json --interest interest.csv --objective fault-tolerance --parts
    """
    from regraft.cli import evaluate_report

    start = time.perf_counter()
    read = [read_topology(path) for path in (topology, other) if path is not None]
    workload = _workload(options["traffic"], options["interest"])
    with _waiting(as_json):
        found = _judged(read, workload, options)
    settings = {"alpha": options["alpha"], "beta": options["beta"], "classes": len(workload.traffic)}
    if as_json:
        answer = evaluate_report.as_object(found, options["parts"]) | settings
        answer["seconds"] = round(time.perf_counter() - start, 3)
        click.echo(json.dumps(answer, allow_nan=False))
    else:
        evaluate_report.show(found, [str(path) for path in (topology, other) if path], options["parts"])


def _judged(read: list[Topology], workload: Workload, options: dict[str, Any]) -> "Assessment | Comparison":
    from regraft.evaluate import assess, compare

    objectives = options["objectives"] or OBJECTIVES
    weights = (options["alpha"], options["beta"])
    try:
        if len(read) == 1:
            return assess(read[0], workload, objectives, *weights)
        return compare(read[0], read[1], workload, objectives, *weights, most=options["most"])
    except BadInput as fault:
        file = options["interest"] if fault.place.startswith("interest") else options["traffic"]
        raise fault.within(str(file)) if file else fault from None


def _workload(traffic: Path | None, interest: Path | None) -> Workload:
    return Workload(
        read_traffic(traffic) if traffic else (),
        read_interest(interest) if interest else {},
    )


def _waiting(quiet: bool) -> AbstractContextManager[Any]:
    """Something moves on a terminal while topics are being examined."""
    from rich.console import Console

    console = Console(stderr=True)
    return nullcontext() if quiet or not console.is_terminal else console.status("evaluating")
