"""`regraft serve`: the loop on autopilot, with REST and dashboard."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.help_headings import Command
from regraft.cli.watching import stopped_by_signal

if TYPE_CHECKING:
    from regraft.serve.configuration import ServeConfiguration
    from regraft.serve.service import Service

FILE = click.Path(path_type=Path)


@click.command(cls=Command)
@click.option(
    "-c",
    "--config",
    "path",
    type=FILE,
    default=Path("regraft.toml"),
    show_default=True,
    metavar="FILE",
    help="The configuration; `regraft init` writes a starter.",
)
@click.option("--no-web", is_flag=True, help="The loop alone, without REST and dashboard.")
@click.option("--json", "as_json", is_flag=True, help="When it runs, print one JSON object.")
def serve(path: Path, no_web: bool, as_json: bool) -> int:
    """Run the loop on a running overlay until Ctrl-C.

    It measures the traffic, judges the tree, proposes a better one, carries out and verifies the change.

    \b
    Examples:
      regraft up tree.json --telemetry out/telemetry     # in another terminal
      regraft init
      regraft serve
    """
    import asyncio
    import os

    from regraft.serve.configuration_file import read_configuration

    configuration = read_configuration(path, os.environ)
    if not no_web and configuration.web.enabled:
        from regraft.web.settings import settings_of

        settings_of(configuration.web)  # refuses unsafe settings before the loop begins
    return asyncio.run(_serve(configuration, not no_web and configuration.web.enabled, as_json))


async def _serve(configuration: "ServeConfiguration", with_web: bool, as_json: bool) -> int:

    from regraft.estate.opening import opened
    from regraft.serve.running import running_service
    from regraft.web.logs import install

    stop = stopped_by_signal()
    install("INFO")
    async with (
        opened(configuration.estate) as estate,
        running_service(configuration, estate) as service,
        _web(service, configuration, with_web) as url,
    ):
        _announce(configuration, service, url, as_json)
        await stop.wait()
    click.echo("stopped", err=True)
    return 0


@asynccontextmanager
async def _web(
    service: "Service", configuration: "ServeConfiguration", wanted: bool
) -> AsyncIterator[str | None]:
    if not wanted:
        yield None
        return
    from regraft.web.serving import serving

    async with serving(service, configuration.web) as served:
        yield served.url


def _announce(
    configuration: "ServeConfiguration", service: "Service", url: str | None, as_json: bool
) -> None:
    state = service.state()
    if as_json:
        answer: dict[str, Any] = {
            "overlay": configuration.overlay.name,
            "mode": state.mode,
            "window_seconds": state.window_seconds,
            "state": str(configuration.state.folder),
            "url": url,
        }
        click.echo(json.dumps(answer))
    else:
        where = f"; dashboard at {url}" if url else ""
        click.echo(
            f"The loop runs on {configuration.overlay.name} in mode {state.mode}{where}. Ctrl-C stops it."
        )
    sys.stdout.flush()
