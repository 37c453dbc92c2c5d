"""What `regraft pub` and `sub` share: the options that say which broker and how to be let in, and filters."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.help_headings import advanced
from regraft.cli.running_directory import directory_option
from regraft.model import BadInput

if TYPE_CHECKING:
    import ssl

    from regraft.client.addresses import Directory


def connection_options(command: Any) -> Any:
    """What `pub` and `sub` need to find a broker and to be let in."""
    for option in reversed(
        [
            directory_option("Where the brokers are, as `regraft up` wrote it."),
            click.option(
                "--broker", metavar="ID", help="Which broker of the directory.  [default: the first]"
            ),
            click.option("--at", metavar="HOST:PORT,...", help="Brokers' addresses, instead of a directory."),
            click.option(
                "--name", default="", metavar="NAME", help="Name of the client.  [default: a new one]"
            ),
            click.option(
                "--token",
                default="",
                envvar="REGRAFT_TOKEN",
                help="Secret of the client.",
                **advanced("TLS and tokens"),
            ),
            click.option(
                "--ca",
                type=click.Path(path_type=Path),
                metavar="FILE",
                help="Speak TLS; the broker's certificate is of this authority (PEM).",
                **advanced("TLS and tokens"),
            ),
            click.option(
                "--certificate",
                type=click.Path(path_type=Path),
                metavar="FILE",
                help="Certificate and key of the client (PEM), with --ca.",
                **advanced("TLS and tokens"),
            ),
            click.option(
                "--timeout",
                type=click.FloatRange(0.1),
                default=10.0,
                show_default=True,
                metavar="SECONDS",
                help="For the connection; then for the next acknowledgement, or a filter to be in place.",
                **advanced(),
            ),
        ]
    ):
        command = option(command)
    return command


def say_waiting(reason: str) -> None:
    """Say what a filter waits for, as its broker reports it."""
    click.echo(f"waiting: {reason}", err=True)


def addresses(at: str | None, directory: Path, broker: str | None) -> "list[str] | Directory":
    """The addresses in `at`, else one broker of the directory."""
    from regraft.client.addresses import Directory, parse_addresses

    if at is not None:
        return [f"{host}:{port}" for host, port in parse_addresses(at)]
    return Directory(directory, broker)


def tls_context(ca: Path | None, certificate: Path | None) -> "ssl.SSLContext | None":
    import ssl

    if ca is None:
        if certificate is not None:
            raise BadInput("--certificate", "is for TLS: --ca says which authority to trust")
        return None
    try:
        made = ssl.create_default_context(cafile=ca)
        if certificate is not None:
            made.load_cert_chain(certificate)
    except (OSError, ssl.SSLError) as fault:
        raise BadInput(
            f"{ca}{f', {certificate}' if certificate else ''}", f"no usable certificate: {fault}"
        ) from None
    return made


def checked_filter(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    """A callback of click that refuses a wrong filter; `filters` is loaded only if one was given."""
    from regraft.filters import BadFilter, parse

    if text is not None:
        try:
            parse(text)
        except BadFilter as fault:
            name = parameter.opts[0] if isinstance(parameter, click.Option) else parameter.human_readable_name
            raise fault.of(name, text) from None
    return text
