"""`regraft init`: a starter configuration, with every key explained."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regraft.cli.help_headings import Command
from regraft.model import BadInput

if TYPE_CHECKING:
    from regraft.model.setting_kinds import Written

FILE = click.Path(path_type=Path)


@click.command(cls=Command)
@click.argument("file", type=FILE, default=Path("regraft.toml"), metavar="[FILE]")
@click.option("--force", is_flag=True, help="Overwrite a file that exists.")
@click.option(
    "--mode",
    type=click.Choice(["observe", "propose", "automatic"]),
    help="Mode of the loop.  [default: propose]",
)
@click.option("--telemetry", metavar="PLACE", help="The place of `regraft up --telemetry`.")
@click.option("--directory", type=FILE, metavar="FILE", help="The file of `regraft up --directory`.")
@click.option("--zookeeper", metavar="HOST:PORT,...", help="An ensemble, not that of `regraft up`.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def init(
    file: Path,
    force: bool,
    mode: str | None,
    telemetry: str | None,
    directory: Path | None,
    zookeeper: str | None,
    as_json: bool,
) -> None:
    """Write a configuration file in which every key is explained.

    FILE is regraft.toml if it is not given.

    \b
    Examples:
      regraft init
      regraft init --mode automatic --telemetry s3://bucket/telemetry
    """
    from regraft.model.files import write_text
    from regraft.serve.configuration_file import starter

    if file.exists() and not force:
        raise BadInput(str(file), "is there already; --force writes over it")
    given: dict[tuple[str, str], Written | None] = {
        ("loop", "mode"): mode,
        ("telemetry", "folder"): telemetry,
        ("overlay", "directory"): str(directory) if directory else None,
        ("zookeeper", "hosts"): zookeeper,
    }
    write_text(file, starter({place: value for place, value in given.items() if value is not None}))
    if as_json:
        click.echo(json.dumps({"file": str(file)}))
    else:
        click.echo(f"{file} written: look it over, then `regraft doctor`, then `regraft serve`.")
