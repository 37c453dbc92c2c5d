"""The options that say which ZooKeeper a command uses and how it authenticates: one decorator, one value."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from regraft.cli.help_headings import advanced
from regraft.model import BadInput

if TYPE_CHECKING:
    from regraft.coord import Configuration, Layout, Tls
    from regraft.coord.configuration import Auth

FILE = click.Path(path_type=Path)
AUTH_RULE = "must be digest:USER:PASSWORD, sasl:USER:PASSWORD, gssapi or gssapi:PRINCIPAL"


class Zookeeper(NamedTuple):
    """What the user typed. Without --zookeeper, `configuration` is None."""

    configuration: "Configuration | None"
    layout: "Layout"

    def needed(self) -> "Configuration":
        """The configuration, for commands that cannot do without --zookeeper."""
        if self.configuration is None:
            raise BadInput("--zookeeper", "says where ZooKeeper is (HOST:PORT,...), and it is missing")
        return self.configuration


def zookeeper_options(command: Callable[..., Any]) -> Any:
    """Adds the options; the command gets one argument `zookeeper`, a `Zookeeper`."""

    @functools.wraps(command)
    def with_value(*arguments: Any, **options: Any) -> Any:
        own = {name: options.pop(name) for name in list(options) if name.startswith("zookeeper_")}
        return command(*arguments, zookeeper=_value(own), **options)

    decorated: Any = with_value
    for option in reversed(_options()):
        decorated = option(decorated)
    return decorated


def _options() -> list[Any]:
    return [
        click.option(
            "--zookeeper",
            "zookeeper_hosts",
            envvar="REGRAFT_ZOOKEEPER",
            metavar="HOST:PORT,...",
            help="An ensemble that is running.",
        ),
        click.option(
            "--zookeeper-auth",
            envvar="REGRAFT_ZOOKEEPER_AUTH",
            metavar="WHO",
            help="digest:USER:PASSWORD, sasl:USER:PASSWORD or gssapi[:PRINCIPAL]; @FILE: it is in that file.",
            **advanced("ZooKeeper"),
        ),
        click.option(
            "--zookeeper-tls",
            is_flag=True,
            help="Speak TLS; trust the system's authorities.",
            **advanced("ZooKeeper"),
        ),
        click.option(
            "--zookeeper-ca",
            type=FILE,
            metavar="FILE",
            help="Speak TLS; trust this authority only (PEM).",
            **advanced("ZooKeeper"),
        ),
        click.option(
            "--zookeeper-certificate",
            type=FILE,
            metavar="FILE",
            help="With TLS: our certificate (PEM).",
            **advanced("ZooKeeper"),
        ),
        click.option(
            "--zookeeper-key",
            type=FILE,
            metavar="FILE",
            help="Its key.  [default: in that file]",
            **advanced("ZooKeeper"),
        ),
        click.option(
            "--zookeeper-world",
            type=click.Choice(["read", "nothing"]),
            default="read",
            show_default=True,
            help="What others may do with our nodes, when we have credentials.",
            **advanced("ZooKeeper"),
        ),
        click.option(
            "--zookeeper-root",
            default="/regraft",
            show_default=True,
            metavar="PATH",
            help="The path of our nodes.",
            **advanced("ZooKeeper"),
        ),
    ]


def _value(own: dict[str, Any]) -> Zookeeper:
    from regraft.coord import Configuration, Layout

    layout = Layout(own["zookeeper_root"])
    if own["zookeeper_hosts"] is None:
        for name in (
            "tls",
            "ca",
            "certificate",
            "key",
        ):  # not auth, which other commands may need
            if own[f"zookeeper_{name}"]:
                raise BadInput(f"--zookeeper-{name}", "is for an ensemble that is running: give --zookeeper")
        return Zookeeper(None, layout)
    auth = own["zookeeper_auth"]
    configuration = Configuration(
        own["zookeeper_hosts"],
        auth=auth_of(auth) if auth else None,
        tls=_tls(own),
        world=own["zookeeper_world"],
    )
    return Zookeeper(configuration, layout)


def auth_of(text: str) -> "Auth":
    """The credentials in the text, or in @FILE: everybody on the machine can see a command line."""
    from regraft.coord import Digest, Sasl

    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as fault:
            reason = fault.strerror if isinstance(fault, OSError) else "is not text"
            raise BadInput(text[1:], f"cannot be read: {reason}") from None
    scheme, _, rest = text.partition(":")
    if scheme == "gssapi":
        return Sasl(user=rest, mechanism="GSSAPI")
    user, colon, password = rest.partition(":")
    if scheme not in ("digest", "sasl") or not (user and colon):
        raise BadInput("--zookeeper-auth", AUTH_RULE)
    return Digest(user, password) if scheme == "digest" else Sasl(user, password)


def _tls(own: dict[str, Any]) -> "Tls | None":
    from regraft.coord import Tls

    ca, certificate, key = (own[f"zookeeper_{name}"] for name in ("ca", "certificate", "key"))
    if not (own["zookeeper_tls"] or ca or certificate or key):
        return None
    if key and not certificate:
        raise BadInput("--zookeeper-key", "is the key of --zookeeper-certificate, and there is none")
    return Tls(ca, certificate, (key or certificate))
