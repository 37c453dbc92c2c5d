"""`regraft doctor`: checks that this machine has what `regraft serve` needs, and says what to do if not."""

import json
from pathlib import Path

import click

from regraft.cli.help_headings import Command

FILE = click.Path(path_type=Path)
MARKS = {"ok": "ok     ", "warning": "warning", "fault": "FAULT  "}


@click.command(cls=Command)
@click.option(
    "-c",
    "--config",
    "path",
    type=FILE,
    default=Path("regraft.toml"),
    show_default=True,
    metavar="FILE",
    help="The configuration; without one, its defaults.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor(path: Path, as_json: bool) -> int:
    """Check that this machine has what `regraft serve` needs.

    Java, Spark, ZooKeeper, ports, clock, permissions, disk, and the configuration. Exit code 0 if nothing
    is in the way (warnings allowed), 1 if something is.

    \b
    Examples:
      regraft doctor
      regraft doctor -c regraft.toml --json
    """
    import os

    from regraft.cli.doctor_checks import examine
    from regraft.serve.configuration_file import configured, read_configuration

    given = path.exists() or _config_is_given()
    configuration = read_configuration(path, os.environ) if given else configured({}, Path.cwd(), os.environ)
    checks = []
    for check in examine(configuration):
        checks.append(check)
        if not as_json:
            advice = f"\n         -> {check.advice}" if check.advice else ""
            click.echo(f"{MARKS[check.verdict]}  {check.name}: {check.found}{advice}")
    faults = [check.name for check in checks if check.verdict == "fault"]
    if as_json:
        click.echo(json.dumps({"ok": not faults, "checks": [check._asdict() for check in checks]}))
    elif not given:
        click.echo(f"{path} is not there: these are the defaults (`regraft init` writes it).")
    return 1 if faults else 0


def _config_is_given() -> bool:
    """A file that was named must exist; without one, the defaults are checked."""
    from click.core import ParameterSource

    return click.get_current_context().get_parameter_source("path") is ParameterSource.COMMANDLINE
