"""The options of `regraft up` and `regraft broker` that configure a broker."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from regraft.cli.help_headings import advanced
from regraft.model import BadInput, Kind

if TYPE_CHECKING:
    from regraft.broker.io.configuration import Configuration, Telemetry, Tokens
    from regraft.wire.identity import Tls

Configure: TypeAlias = "Callable[[str, tuple[str, ...]], Configuration]"
"""A broker's id and its neighbours → its configuration."""


FILE = click.Path(path_type=Path)
OPTIONS = [
    click.option("--state", type=FILE, metavar="FOLDER", help="Journals: sessions survive a restart."),
    click.option(
        "--telemetry", metavar="PLACE", help="Put telemetry there: a folder, or s3://BUCKET/PREFIX."
    ),
    click.option(
        "--sample",
        type=click.IntRange(1, 2**20),
        default=1,
        metavar="N",
        help="Record only one publication in N, which counts for N. All are counted.",
        **advanced("measurements"),
    ),
    click.option(
        "--telemetry-budget",
        type=click.IntRange(0, 2**30),
        metavar="KIB",
        help="Record fewer publications where a broker's telemetry would need more KiB a second; 0: never.  "
        "[default: 1024]",
        **advanced("measurements"),
    ),
    click.option(
        "--probes",
        type=click.IntRange(0, 64),
        metavar="N",
        help="Probe N other brokers every 5 s, in turn, for the round trips to them.  [default: 2]",
        **advanced("measurements"),
    ),
    click.option(
        "--connected",
        type=click.IntRange(1, 3),
        default=1,
        metavar="K",
        help="For a mesh: a topic is in place when it is K-connected among the brokers that have it.",
    ),
    click.option("--no-metrics", is_flag=True, help="No /metrics and /healthz.", **advanced("measurements")),
    click.option(
        "--certificate",
        type=FILE,
        metavar="FILE",
        help="Speak TLS with this certificate (PEM).",
        **advanced("TLS and tokens"),
    ),
    click.option(
        "--key",
        type=FILE,
        metavar="FILE",
        help="Its key.  [default: in the same file]",
        **advanced("TLS and tokens"),
    ),
    click.option(
        "--ca",
        type=FILE,
        metavar="FILE",
        help="Authority: brokers show certificates to each other.",
        **advanced("TLS and tokens"),
    ),
    click.option(
        "--clients-too",
        is_flag=True,
        help="With --ca: clients must show a certificate as well.",
        **advanced("TLS and tokens"),
    ),
    click.option(
        "--tokens",
        type=FILE,
        metavar="FILE",
        help='{"brokers": SECRET, "clients": {NAME: SECRET, "*": SECRET}}',
        **advanced("TLS and tokens"),
    ),
]


def broker_options(command: Any) -> Any:
    """The options that `configuring` reads, except the host."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def configuring(kind: Kind, options: Mapping[str, Any]) -> Configure:
    """A function that makes the configuration of each broker from the options."""
    from regraft.broker.io.configuration import Configuration

    if kind != "mesh" and options["connected"] > 1:
        raise click.UsageError("--connected is for meshes: the links of a tree connect everybody, once")
    tls, tokens, telemetry = _tls(options), _tokens(options["tokens"]), _telemetry(options)
    if options["state"] is not None:
        make_folder(options["state"])

    def configure(id: str, near: tuple[str, ...]) -> "Configuration":
        return Configuration(
            id,
            near,
            kind,
            host=options["host"] or "127.0.0.1",
            state=options["state"],
            connected=options["connected"],
            tls=tls,
            tokens=tokens,
            telemetry=telemetry,
            metrics=None if options["no_metrics"] else ("127.0.0.1", 0),
        )

    return configure


def _tls(options: Mapping[str, Any]) -> "Tls | None":
    from regraft.wire.identity import Tls, accepting

    certificate, ca = options["certificate"], options["ca"]
    if certificate is None:
        if ca is not None or options["key"] is not None or options["clients_too"]:
            raise click.UsageError("--ca, --key and --clients-too are for TLS, which needs --certificate")
        return None
    if options["clients_too"] and ca is None:
        raise click.UsageError("--clients-too needs the --ca that clients' certificates are of")
    tls = Tls(certificate, options["key"] or certificate, ca, options["clients_too"])
    accepting(tls)  # reports a wrong file before anything starts
    return tls


def _tokens(path: Path | None) -> "Tokens":
    import msgspec

    from regraft.broker.io.configuration import Tokens
    from regraft.model.fields import an_object, only
    from regraft.model.files import as_text, parse_json, read_bytes

    if path is None:
        return Tokens()
    try:
        document = an_object(parse_json(as_text(read_bytes(path))), "")
        only(document, ("brokers", "clients"))  # a mistyped "client" would let everybody in
        return msgspec.convert(document, Tokens)
    except BadInput as fault:
        raise fault.within(str(path)) from None
    except msgspec.ValidationError as fault:
        raise BadInput(str(path), str(fault)) from None


_MEASURING = ("probes", "telemetry_budget")
"""Options that are None unless they are given."""


def _telemetry(options: Mapping[str, Any]) -> "Telemetry | None":
    from regraft.broker.io.configuration import Telemetry
    from regraft.model.store import open_store

    if options["telemetry"] is None:
        given = {"--sample": options["sample"] > 1}
        given |= {f"--{name.replace('_', '-')}": options[name] is not None for name in _MEASURING}
        for option in (option for option, is_given in given.items() if is_given):
            raise click.UsageError(f"{option} is for --telemetry")
        return None
    store = open_store(options["telemetry"])  # reports a wrong address before anything starts
    if store.is_local:
        make_folder(Path(store.place))
    telemetry = Telemetry(options["telemetry"], options["sample"])
    if options["probes"] is not None:
        telemetry = replace(telemetry, probes=options["probes"])
    if options["telemetry_budget"] is not None:
        telemetry = replace(telemetry, budget=options["telemetry_budget"] * 1024.0 or math.inf)
    return telemetry


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise BadInput(str(folder), f"cannot be made into a folder: {fault.strerror}") from None
