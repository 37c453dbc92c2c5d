"""`regraft lab NAME`: runs an experiment of the papers again. `regraft.lab` defines the experiments."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.help_headings import Command, Group

if TYPE_CHECKING:
    from regraft.lab import Experiment, Option


class Experiments(Group):
    """One command for each experiment, with the options that the experiment declares."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from regraft.lab import EXPERIMENTS

        return list(EXPERIMENTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from regraft.lab import EXPERIMENTS

        return _command(cmd_name, EXPERIMENTS[cmd_name]) if cmd_name in EXPERIMENTS else None


@click.group(cls=Experiments, invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on success.")
@click.pass_context
def lab(context: click.Context, as_json: bool) -> None:
    """Re-run an experiment of the papers; without a name, list them.

    \b
    Examples:
      regraft lab
      regraft lab ipitt-planning --help
      regraft lab ipitt-planning --sizes 20 --ratios 10 --topologies 1 --planners fast --time-limit 1
    """
    if context.invoked_subcommand is None:
        from regraft.lab import EXPERIMENTS

        _list(EXPERIMENTS, as_json)


def _list(experiments: "dict[str, Experiment]", as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"experiments": {name: each.summary for name, each in experiments.items()}}))
        return
    width = max(map(len, experiments), default=0)
    for name, experiment in experiments.items():
        click.echo(f"{name:<{width}}  {experiment.summary}")


def _command(name: str, experiment: "Experiment") -> click.Command:
    def run(out: Path, as_json: bool, **options: Any) -> None:
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        said = {key: value for key, value in options.items() if value is not None}
        result = experiment.run(folder, **said)
        if as_json:
            click.echo(json.dumps({"experiment": name, "out": str(folder), "result": result}))
        else:
            click.echo(f"{name}: {json.dumps(result)}; tables and pictures are in {folder}")

    where = click.Option(
        ["--out"],
        type=click.Path(path_type=Path),
        default=Path("out/lab"),
        show_default=True,
        metavar="FOLDER",
        help="Tables and pictures are written there, in a folder of the experiment's name.",
    )
    as_json = click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object on success.")
    declared = [_option(option) for option in experiment.options]
    return Command(name, params=[*declared, where, as_json], callback=run, help=experiment.summary)


def _option(option: "Option") -> click.Option:
    flag = f"--{option.name.replace('_', '-')}"
    return click.Option([flag, option.name], callback=_parser(option), metavar="VALUE", help=option.help)


def _parser(option: "Option") -> Callable[[click.Context, click.Parameter, str | None], Any]:
    def parse(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else option.parse(value)
        except ValueError as fault:
            raise click.BadParameter(str(fault), context, parameter) from None

    return parse
