"""`regraft generate WHAT`: inputs for measure, design and evaluate at any size, made on Spark.

A command of its own, not a part of `lab`: what it writes is what the other commands read, and none of it
is an experiment of the papers.
"""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.help_headings import Group, advanced
from regraft.cli.spark_options import conf, spark_options
from regraft.model import BadInput
from regraft.model.files import shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILE = click.Path(path_type=Path)
FORMATS = ("parquet", "csv")


@click.group(cls=Group)
def generate() -> None:
    """Make telemetry, interest tables and event streams.

    Synthetic at any size, or from real data. The same arguments give the same rows on any number of cores.
    """


def _common(command: Any) -> Any:
    for option in reversed(
        (
            click.option("--out", type=FILE, required=True, metavar="FOLDER", help="Where the files go."),
            click.option(
                "--format",
                "form",
                type=click.Choice(FORMATS),
                default="parquet",
                show_default=True,
                help="Format of the files.",
            ),
            click.option(
                "--partitions",
                type=click.IntRange(1, 100_000),
                metavar="N",
                help="About how many files.",
                **advanced("Spark"),
            ),
            spark_options,
            click.option("--json", "as_json", is_flag=True, help="Print one JSON object on success."),
        )
    ):
        command = option(command)
    return command


SEED = click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    help="The same seed gives the same rows.",
)


@generate.command()
@click.option("--nodes", type=click.IntRange(1), required=True, metavar="N", help="How many nodes.")
@click.option("--topics", type=click.IntRange(1), required=True, metavar="N", help="How many topics.")
@click.option(
    "--subscriptions",
    type=click.IntRange(1),
    default=30,
    show_default=True,
    help="Subscriptions of each node.",
)
@click.option(
    "--distribution",
    type=click.Choice(["expo", "zipf", "unif"]),
    default="unif",
    show_default=True,
    help="How popular the topics are: exponential, Zipf with exponent 2, uniform.",
)
@SEED
@_common
def interest(nodes: int, topics: int, subscriptions: int, distribution: Any, **options: Any) -> None:
    """Make an interest table: which node wants which topics.

    \b
    Example:
      regraft generate interest --nodes 1000 --topics 100 --format csv --out interest
    """

    def make(session: "SparkSession") -> "DataFrame":
        from regraft.measure.generate.interest import interest

        seed, partitions = options["seed"], options["partitions"]
        return interest(session, nodes, topics, subscriptions, distribution, seed, partitions)

    _write(make, options)


@generate.command()
@click.option("--rows", type=click.IntRange(1), required=True, help="About how many records.")
@click.option(
    "--topology", type=FILE, metavar="FILE", help="The brokers' tree; the first has the publishers."
)
@click.option(
    "--brokers",
    type=click.IntRange(1, 1000),
    default=60,
    show_default=True,
    help="Used without a topology.",
)
@click.option(
    "--subscribers",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    metavar="N",
    help="How many clients subscribe.",
)
@click.option(
    "--publishers",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    metavar="N",
    help="How many clients publish.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    default=5.0,
    show_default=True,
    help="Events a second of each publisher.",
)
@SEED
@_common
def telemetry(rows: int, topology: Path | None, brokers: int, **options: Any) -> None:
    """Make the telemetry of brokers in a tree.

    There are ten classes of events with two attributes, and subscribers with ranges.

    \b
    Example:
      regraft generate telemetry --rows 1000 --brokers 10 --out telemetry
    """

    def make(session: "SparkSession") -> "DataFrame":
        from regraft.lab.workload import SHAPES, tree
        from regraft.measure.generate.telemetry import TelemetrySettings, telemetry
        from regraft.model.topology_files import read_topology

        network = read_topology(topology) if topology else tree(brokers, SHAPES[0])
        said = {name: options[name] for name in ("subscribers", "publishers", "rate", "seed", "partitions")}
        return telemetry(session, network, TelemetrySettings(rows, **said))

    _write(make, options)


@generate.command()
@click.argument("source", metavar="FILE", type=FILE)
@_common
def real(source: Path, **options: Any) -> None:
    """Make an interest table of the real data in FILE.

    Friends (.txt), JSON lists of topics (.jsonl), listeners (.tsv).

    \b
    Example:
      regraft generate real facebook_combined.txt --out friends
    """

    def make(session: "SparkSession") -> "DataFrame":
        from regraft.measure.generate.real_interest import real_interest

        return real_interest(session, source)

    _write(make, options)


@generate.command()
@click.argument("source", metavar="FILE", type=FILE)
@click.option("--broker", default="b0", show_default=True, help="Where they are published.")
@_common
def events(source: Path, broker: str, **options: Any) -> None:
    """Make publication records of the real events in FILE.

    Quotes, taxi trips, weather, air, motes.

    \b
    Example:
      regraft generate events padres_stockquotes/YHOO.txt.gz --out events
    """

    def make(session: "SparkSession") -> "DataFrame":
        from regraft.measure.generate.real_events import real_events

        return real_events(session, source, broker)

    _write(make, options)


def _write(make: Any, options: dict[str, Any]) -> None:
    from regraft.measure.faults import one_line
    from regraft.measure.session import start

    began, out = time.perf_counter(), options["out"]
    if out.exists():
        raise BadInput(shown(out), "is there already; a new folder is needed")
    session = start(options["spark"], memory=options["memory"], settings=conf(options))
    with one_line(shown(out)):
        table = make(session)
        writer = table.write.option("header", True)
        getattr(writer, options["form"])(str(out.absolute()))
        form, schema = options["form"], table.schema
        reader = session.read.schema(schema).option("header", True)
        rows = getattr(reader, form)(str(out.absolute())).count()
    answer = {"out": str(out), "rows": rows, "seconds": round(time.perf_counter() - began, 3)}
    if options["as_json"]:
        click.echo(json.dumps(answer))
    else:
        click.echo(f"{rows:,} rows in {shown(out)}")
