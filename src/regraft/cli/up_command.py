"""`regraft up TOPOLOGY`: the brokers of a topology, running on this machine until they are stopped."""

import json
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.running_directory import directory_option, document
from regraft.model import BadInput, Kind, Topology

if TYPE_CHECKING:
    from regraft.broker.io.configuration import Configuration, Telemetry, Tls, Tokens
    from regraft.broker.io.overlay import Overlay
    from regraft.broker.io.processes import Processes

FILE = click.Path(path_type=Path)


@click.command()
@click.argument("topology", metavar="TOPOLOGY", type=FILE)
@click.option("--processes", is_flag=True, help="One process for each broker, instead of one for all.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen there; ports are free ones.")
@directory_option("Written when all brokers run, for `regraft pub` and `sub`; removed at the end.")
@click.option("--state", type=FILE, metavar="FOLDER", help="Journals: sessions survive a restart.")
@click.option("--telemetry", type=FILE, metavar="FOLDER", help="Spool telemetry records there.")
@click.option(
    "--sample", type=click.IntRange(1), default=1, metavar="N", help="Of one publication in N only."
)
@click.option("--no-metrics", is_flag=True, help="No /metrics and /healthz.")
@click.option("--certificate", type=FILE, metavar="FILE", help="Speak TLS with this certificate (PEM).")
@click.option("--key", type=FILE, metavar="FILE", help="Its key.  [default: in the same file]")
@click.option("--ca", type=FILE, metavar="FILE", help="Authority: brokers show certificates to each other.")
@click.option("--clients-too", is_flag=True, help="With --ca: clients must show a certificate as well.")
@click.option(
    "--tokens", type=FILE, metavar="FILE", help='{"brokers": SECRET, "clients": {NAME: SECRET, "*": SECRET}}'
)
@click.option("--json", "as_json", is_flag=True, help="When all run, print one JSON object.")
def up(topology: Path, processes: bool, directory: Path, as_json: bool, **options: Any) -> int:
    """Start the brokers of TOPOLOGY, a tree or a mesh, and run them until Ctrl-C.

    \b
    Examples:
      regraft up tree.json
      regraft up tree.json --processes --state state --telemetry spool
      regraft up tree.json & regraft sub "temp > 20" --count 1 & regraft pub temp=21
    """
    from regraft.broker.io.overlay import Overlay
    from regraft.broker.io.processes import Processes
    from regraft.broker.io.running import run
    from regraft.model.topology_files import read_topology

    brokers = read_topology(topology)
    configure = _configure(brokers.kind, options)
    overlay = Processes(brokers, configure) if processes else Overlay(brokers, configure)
    return run(_serve(overlay, brokers, directory, as_json))


async def _serve(overlay: "Processes | Overlay", brokers: Topology, directory: Path, as_json: bool) -> int:
    import asyncio

    from regraft.model.files import write_text

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    _make_folder(directory.parent)
    async with overlay:
        rows = _rows(overlay, brokers)
        write_text(directory, document(rows))
        try:
            _show(rows, directory, as_json)
            code = await _watch(overlay, stop)
        finally:
            directory.unlink(missing_ok=True)
    click.echo("stopped", err=True)
    return code


async def _watch(overlay: "Processes | Overlay", stop: Any) -> int:
    """Until told to stop; a broker that has ended is reported, and makes the exit code 1."""
    import asyncio

    waiting: dict[asyncio.Task[Any], str] = {
        asyncio.create_task(overlay.ended(id)): id for id in overlay.topology.ids
    }
    stopped = asyncio.create_task(stop.wait())
    code = 0
    while not stopped.done():
        ended, _ = await asyncio.wait({stopped, *waiting}, return_when=asyncio.FIRST_COMPLETED)
        for task in ended - {stopped}:
            if not stopped.done():
                click.echo(f"broker {waiting[task]} has ended ({task.result()})", err=True)
                code = 1
            del waiting[task]
    for task in waiting:
        task.cancel()
    return code


def _rows(overlay: "Processes | Overlay", brokers: Topology) -> dict[str, dict[str, Any]]:
    import os

    processes = getattr(overlay, "running", {})
    rows: dict[str, dict[str, Any]] = {}
    for id in brokers.ids:
        metrics = overlay.metrics[id]
        rows[id] = {
            "address": "{}:{}".format(*overlay.addresses[id]),
            "metrics": "http://{}:{}/metrics".format(*metrics) if metrics else None,
            "pid": processes[id].pid if processes else os.getpid(),
            "neighbours": sorted(brokers.neighbours[id]),
        }
    return rows


def _show(rows: Mapping[str, Mapping[str, Any]], directory: Path, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"directory": str(directory), "brokers": rows}))
    else:
        from rich.table import Table

        from regraft.cli.printing import console, shown

        table = Table("broker", "address", "process", "neighbours", "metrics", box=None, pad_edge=False)
        for id, row in rows.items():
            near = " ".join(map(shown, row["neighbours"]))
            table.add_row(shown(id), row["address"], str(row["pid"]), near, row["metrics"] or "-")
        console().print(table)
        click.echo(f"{len(rows)} brokers run; {directory} says where. Ctrl-C stops them.")
    sys.stdout.flush()


def _configure(kind: Kind, options: Mapping[str, Any]) -> Any:
    """Options → the configuration of each broker."""
    from regraft.broker.io.configuration import Configuration

    tls, tokens, telemetry = _tls(options), _tokens(options["tokens"]), _telemetry(options)
    for folder in (options["state"], options["telemetry"]):
        if folder is not None:
            _make_folder(folder)

    def configure(id: str, near: tuple[str, ...]) -> "Configuration":
        return Configuration(
            id,
            near,
            kind,
            host=options["host"],
            state=options["state"],
            tls=tls,
            tokens=tokens,
            telemetry=telemetry,
            metrics=None if options["no_metrics"] else ("127.0.0.1", 0),
        )

    return configure


def _tls(options: Mapping[str, Any]) -> "Tls | None":
    from regraft.broker.io.configuration import Tls
    from regraft.broker.io.tls import accepting

    certificate, ca = options["certificate"], options["ca"]
    if certificate is None:
        if ca is not None or options["key"] is not None or options["clients_too"]:
            raise click.UsageError("--ca, --key and --clients-too are for TLS, which needs --certificate")
        return None
    if options["clients_too"] and ca is None:
        raise click.UsageError("--clients-too needs the --ca that clients' certificates are of")
    tls = Tls(certificate, options["key"] or certificate, ca, options["clients_too"])
    accepting(tls)  # a wrong file is said before anything starts
    return tls


def _tokens(path: Path | None) -> "Tokens":
    import msgspec

    from regraft.broker.io.configuration import Tokens
    from regraft.model.files import as_text, parse_json, read_bytes

    if path is None:
        return Tokens()
    try:
        return msgspec.convert(parse_json(as_text(read_bytes(path))), Tokens)
    except BadInput as fault:
        raise fault.within(str(path)) from None
    except msgspec.ValidationError as fault:
        raise BadInput(str(path), str(fault)) from None


def _telemetry(options: Mapping[str, Any]) -> "Telemetry | None":
    from regraft.broker.io.configuration import Telemetry

    if options["telemetry"] is None:
        if options["sample"] > 1:
            raise click.UsageError("--sample is for --telemetry")
        return None
    return Telemetry(options["telemetry"], "sampled" if options["sample"] > 1 else "exact", options["sample"])


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise BadInput(str(folder), f"can not be made into a folder: {fault.strerror}") from None
