"""`regraft evaluate TOPOLOGY [OTHER]`: what a topology costs, or how two differ and why."""

import json
import math
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.help_headings import Command, advanced
from regraft.cli.spark_options import conf, conf_option
from regraft.model import BadInput, Topology
from regraft.model.files import shown
from regraft.model.interest_files import read_interest
from regraft.model.topology_files import read_topology
from regraft.model.traffic_files import read_traffic
from regraft.model.workload import Workload

if TYPE_CHECKING:
    from regraft.model.assessment import Assessment, Comparison

FILE = click.Path(path_type=Path)
OBJECTIVES = ("routing-cost", "degree", "load", "latency", "topic-diameter", "fault-tolerance")
"""The names in `regraft.evaluate`, repeated here so that --help does not load it."""


def _weight(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if not math.isfinite(value) or value < 0:
        raise click.BadParameter(f"must be a finite number from 0, not {value:g}", context, parameter)
    return value


@click.command(cls=Command)
@click.argument("topology", type=FILE)
@click.argument("other", type=FILE, required=False)
@click.option(
    "--traffic", metavar="PLACE", help="Traffic classes: JSON, Parquet, or measured tables. For trees."
)
@click.option(
    "--interest", metavar="PLACE", help="Columns node,topic, or measured tables. For topics in meshes."
)
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
@click.option(
    "--spark",
    metavar="MASTER",
    help="Routing cost of very many classes, not in JSON, on Spark: local[N], spark://HOST:PORT, sc://HOST:PORT.",
    **advanced("Spark"),
)
@conf_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on success.")
def evaluate(topology: Path, other: Path | None, as_json: bool, **options: Any) -> None:
    """Judge TOPOLOGY for its traffic and its topics, or compare two.

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
    large = options["spark"] is not None
    if conf(options) and not large:
        raise click.UsageError("--conf goes with --spark")
    workload = _workload(None if large else options["traffic"], options["interest"])
    with _waiting(as_json):
        found = _judged(read, workload, options)
        if large:
            found = _with_costs(found, read, options)
    settings = {"alpha": options["alpha"], "beta": options["beta"], "classes": len(workload.traffic)}
    if as_json:
        answer = settings | evaluate_report.as_object(found, options["parts"])
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
        raise fault.within(file) if file else fault from None


def _with_costs(
    found: "Assessment | Comparison", read: list[Topology], options: dict[str, Any]
) -> "Assessment | Comparison":
    """Adds the routing costs, computed on Spark, to the numbers that need no traffic."""
    from regraft.measure.faults import one_line
    from regraft.measure.scale.measured_tables import read_classes
    from regraft.measure.scale.routing_cost import routing_cost
    from regraft.measure.session import start
    from regraft.model.assessment import Assessment, Comparison

    if options["traffic"] is None:
        raise click.UsageError("--spark needs --traffic")
    session, place = start(options["spark"], settings=conf(options)), shown(options["traffic"])

    def costly(assessment: Assessment, topology: Topology) -> Assessment:
        with one_line(place):
            classes = read_classes(session, options["traffic"])
        for column in ("members", "demand"):
            if column not in classes.columns:
                raise BadInput(place, f"there must be one column {column!r}")
        try:
            costs = routing_cost(classes, topology, options["alpha"], options["beta"])._asdict()
        except BadInput as fault:
            raise fault.within(place) from None
        return replace(assessment, numbers=costs | dict(assessment.numbers))

    if isinstance(found, Comparison):
        both = (costly(found.first, read[0]), costly(found.second, read[1]))
        return replace(found, first=both[0], second=both[1])
    return costly(found, read[0])


def _workload(traffic: str | None, interest: str | None) -> Workload:
    return Workload(
        read_traffic(traffic) if traffic else (),
        read_interest(interest) if interest else {},
    )


def _waiting(quiet: bool) -> AbstractContextManager[Any]:
    """A spinner on a terminal while topics are examined."""
    from rich.console import Console

    console = Console(stderr=True)
    return nullcontext() if quiet or not console.is_terminal else console.status("evaluating")
