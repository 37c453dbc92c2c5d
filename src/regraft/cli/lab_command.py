"""`regraft lab NAME`: the papers' experiments, re-run. What they are is the business of `regraft.lab`."""

import json
from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("name", required=False)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("out/lab"),
    show_default=True,
    metavar="FOLDER",
    help="Where CSV files and plots are written, in a folder of the experiment's name.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def lab(context: click.Context, name: str | None, out: Path, as_json: bool) -> None:
    """Re-run an experiment of the papers; without NAME, list them.

    \b
    Examples:
      regraft lab
      regraft lab NAME --out results
    """
    from regraft.lab import EXPERIMENTS

    if name is None:
        _list(EXPERIMENTS, as_json)
        return
    if name not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS) or "none yet"
        raise click.UsageError(f"{name!r} is not an experiment; there are: {known}", context)
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    result = EXPERIMENTS[name].run(folder)
    if as_json:
        click.echo(json.dumps({"experiment": name, "out": str(folder), "result": result}, default=str))
    else:
        click.echo(f"{name}: results are in {folder}")


def _list(experiments: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"experiments": {name: each.summary for name, each in experiments.items()}}))
        return
    width = max(map(len, experiments), default=0)
    for name, experiment in experiments.items():
        click.echo(f"{name:<{width}}  {experiment.summary}")
