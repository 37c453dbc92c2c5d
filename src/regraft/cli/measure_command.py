"""`regraft measure SOURCE --out DIR`: telemetry → snapshot tables, on Spark."""

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.help_headings import Command, advanced
from regraft.cli.spark_options import conf, spark_options
from regraft.model import BadInput
from regraft.model.files import shown

if TYPE_CHECKING:
    from regraft.measure.run import Job, RunResult

FILE = click.Path(path_type=Path)


@click.command(cls=Command)
@click.argument("source", metavar="SOURCE")
@click.option("--out", required=True, metavar="PLACE", help="Where the tables go: a folder, or an address.")
@click.option(
    "--window",
    default="60s",
    show_default=True,
    metavar="LENGTH",
    help="Width of a window: 500ms, 60s, 5m, 1h.",
)
@click.option("--follow", is_flag=True, help="Continue with what the brokers write; Ctrl-C ends it.")
@click.option(
    "--stop-when-idle",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help="With --follow: end when nothing new has come for this long.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    help="Keep the N heaviest traffic classes of a window; the rest are merged into supersets, so that no "
    "link's load is understated. The manifest says by how much it may be overstated.",
    **advanced("tables"),
)
@click.option(
    "--lateness",
    default="10m",
    show_default=True,
    metavar="LENGTH",
    help="A record older by this much than its broker's newest one in earlier runs is late: only counted.",
    **advanced("tables"),
)
@click.option(
    "--keep",
    metavar="LENGTH",
    help="Delete windows that ended longer than this before the newest record: 12h, 7d. Without it all stay.",
    **advanced("tables"),
)
@click.option(
    "--topology",
    type=FILE,
    metavar="FILE",
    help="The tree for local views.  [default: by the records]",
    **advanced("tables"),
)
@click.option(
    "--tables",
    metavar="LIST",
    help="Only these, such as traffic_classes,latency; the others stay empty.",
    **advanced("tables"),
)
@spark_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
def measure(source: str, out: str, follow: bool, as_json: bool, **options: Any) -> None:
    """Turn the telemetry in SOURCE into tables of a snapshot.

    SOURCE is where brokers put their segments: a folder, or an address such as s3://bucket/prefix. Other
    Parquet files with the columns of records are read, too. A second run reads only what is new. Each table
    is a Delta table, PLACE/TABLE; one run changes all of them at once, or none.

    \b
    Examples:
      regraft measure out/telemetry --out tables
      regraft measure out/telemetry --out tables --tables traffic_classes --follow
    """
    if options["stop_when_idle"] is not None and not follow:
        raise click.UsageError("--stop-when-idle goes with --follow")
    conf(options)  # a mistake is said before anything is prepared
    job = _job(source, out, options)
    began = time.monotonic()
    ran = _run(job, follow, as_json, options)
    _report(ran, job, time.monotonic() - began, as_json)


def _job(source: str, out: str, options: dict[str, Any]) -> "Job":
    """Checks everything that can be checked without Spark."""
    from regraft.measure.ledger import read_state
    from regraft.measure.run import Job
    from regraft.measure.segments import check_source, prepare
    from regraft.measure.windows import microseconds
    from regraft.model.topology_files import read_topology

    width = microseconds(options["window"])
    lateness = microseconds(options["lateness"], "--lateness")
    keep = microseconds(options["keep"], "--keep") if options["keep"] else None
    topology = read_topology(options["topology"]) if options["topology"] else None
    if topology is not None and topology.kind != "tree":
        raise BadInput(shown(options["topology"]), "local views need a tree")
    check_source(source)
    prepare(out)
    read_state(out, width)
    return Job(source, out, width, lateness, options["top"], topology, _tables(options["tables"]), keep)


def _tables(names: str | None) -> frozenset[str]:
    from regraft.measure.schemas import TABLES

    chosen = [name.strip() for name in names.split(",")] if names else list(TABLES)
    for name in chosen:
        if name not in TABLES:
            raise BadInput(f"--tables {name}", f"there is no such table; there are {', '.join(TABLES)}")
    return frozenset(chosen)


def _run(job: "Job", follow: bool, quiet: bool, options: dict[str, Any]) -> "RunResult":
    from regraft.measure.follow import follow as stream
    from regraft.measure.run import run
    from regraft.measure.session import start

    with _progress(quiet, follow) as say:
        say("starting Spark")
        settings = {**_settings(job, follow, options), **conf(options)}
        session = start(options["spark"], memory=options["memory"], settings=settings)
        try:
            if not follow:
                return run(job, session, say)
            with _until_asked() as ended:
                return stream(job, session, say, ended=ended, idle=options["stop_when_idle"])
        finally:
            session.stop()


def _settings(job: "Job", follow: bool, options: dict[str, Any]) -> Mapping[str, str]:
    from regraft.measure.ledger import read_state
    from regraft.measure.segments import new_files, open_source
    from regraft.measure.session import QUICK, settings_for

    if not options["spark"].startswith("local"):
        return {}
    if follow:
        return QUICK
    new = new_files(open_source(job.source), read_state(job.out, job.width).offset)
    return settings_for(sum(file.size for file in new))


@contextmanager
def _until_asked() -> Iterator[Callable[[], bool]]:
    """Ctrl-C or SIGTERM ends the stream; a second one ends the program."""
    asked = threading.Event()
    before: dict[int, Any] = {}

    def ask(number: int, frame: Any) -> None:
        asked.set()
        signal.signal(number, before[number])

    for number in (int(signal.SIGINT), int(signal.SIGTERM)):
        before[number] = signal.signal(number, ask)
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _progress(quiet: bool, follow: bool) -> Iterator[Callable[[str], None]]:
    """A moving line on a terminal; elsewhere, `--follow` prints a line for each stage."""
    if quiet or not sys.stderr.isatty():
        yield (lambda stage: click.echo(stage, err=True)) if follow and not quiet else (lambda stage: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from regraft.measure.schemas import TABLES

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("measure", total=None if follow else len(TABLES) + 2)

        def say(stage: str) -> None:
            bar.update(task, description=stage, advance=1)

        yield say


def _report(ran: "RunResult", job: "Job", seconds: float, as_json: bool) -> None:
    from regraft.measure.schemas import TABLES

    snapshot, out = ran.snapshot, job.out
    answer = {
        "out": str(out),
        "snapshot": snapshot.version,
        "counts": ran.counts.as_json(),
        "total": snapshot.counts.as_json(),
        "rejected": snapshot.manifest["rejected"],
        "windows": len(snapshot.windows),
        "tables": [name for name in TABLES if name in snapshot.manifest["tables"]],
        "top": snapshot.manifest["top"],
        "seconds": round(seconds, 3),
    }
    if as_json:
        click.echo(json.dumps(answer))
        return
    counts = ", ".join(f"{number} {name}" for name, number in ran.counts.as_json().items())
    click.echo(f"records: {counts}")
    for reason, number in sorted(snapshot.manifest["rejected"].items(), key=lambda item: -item[1]):
        click.echo(f"  rejected so far: {number} {reason}")
    if merged := snapshot.manifest["top"]:
        most = merged["link_load_excess_at_most"]
        click.echo(f"classes: {merged['kept']} kept, {merged['merged_classes']} merged")
        click.echo(
            f"  too much at most: {most} messages on a link, {merged['error']:.1%} of visits of brokers"
        )
    click.echo(f"{len(snapshot.windows)} windows in {shown(out)}, {seconds:.1f} s")
