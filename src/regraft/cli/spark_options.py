"""`--spark`, `--memory` and `--conf`: which Spark a command works on, and with which settings."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from regraft.cli.help_headings import advanced
from regraft.model.setting_kinds import spark_settings

F = TypeVar("F", bound=Callable[..., Any])


def spark_options(command: F) -> F:
    """For a command that always works on Spark: here, unless a master is named."""
    master = click.option(
        "--spark",
        default="local[*]",
        show_default=True,
        metavar="MASTER",
        help="local[N], spark://HOST:PORT, yarn, k8s://…, or sc://HOST:PORT (Spark Connect).",
        **advanced("Spark"),
    )
    memory = click.option(
        "--memory",
        metavar="SIZE",
        default="4g",
        show_default=True,
        help="Of a Spark started here.",
        **advanced("Spark"),
    )
    return master(memory(conf_option(command)))


def conf_option(command: F) -> F:
    """Its values are in `options["conf"]`, for `conf`."""
    return click.option(
        "--conf",
        multiple=True,
        metavar="KEY=VALUE",
        help="A setting of Spark, which counts before ours; may be repeated.",
        **advanced("Spark"),
    )(command)


def conf(options: Mapping[str, Any]) -> dict[str, str]:
    """The settings that `--conf` gives."""
    return spark_settings(options["conf"], "--conf")
