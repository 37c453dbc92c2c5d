"""The options of `regraft plan`: checks what the user types, and makes values of it."""

import math
import os
from collections.abc import Sequence
from pathlib import Path

import click

from regraft.cli.help_headings import advanced
from regraft.cli.pictures import SUFFIXES
from regraft.model import ActionCosts, BadInput
from regraft.model.fields import brief
from regraft.model.files import shown
from regraft.model.limits import DEFAULT_OPERATIONS, TREE_OPERATIONS

SEED = click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="The same seed gives the same random choices.",
    **advanced(),
)
MOST_COST = MOST_LINKS = 10**9
"""With larger numbers, solvers no longer count exactly."""


def planner_name(context: click.Context, option: click.Parameter, value: str) -> str:
    """One of `regraft.plan.PLANNERS`, which is loaded only when a command runs."""
    from regraft.plan import PLANNERS

    if value not in PLANNERS:
        raise click.BadParameter(f"{value!r} is not one of {', '.join(PLANNERS)}", context, option)
    return value


def operations(context: click.Context, option: click.Parameter, value: str) -> frozenset[str]:
    """Names of operations with commas between them."""
    names = [name.strip() for name in value.split(",")]
    for name in names:
        if name not in TREE_OPERATIONS:
            known = ", ".join(TREE_OPERATIONS)
            raise click.BadParameter(f"{name!r} is not one of {known}", context, option)
    return frozenset(names)


def costs(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, int]:
    """`append=4`, for each operation that the user names."""
    found: dict[str, int] = {}
    for value in values:
        name, _, number = value.partition("=")
        if name not in DEFAULT_OPERATIONS or not _is_cost(number):
            rule = f"{brief(value)} is not OPERATION=N, such as append=4 (N: a whole number up to 10^9)"
            raise click.BadParameter(rule, context, option)
        found[name] = int(number)
    return found


def _is_cost(number: str) -> bool:
    """Checks the length first: Python refuses to convert a string of thousands of digits."""
    return number.isdecimal() and len(number) <= len(str(MOST_COST)) and int(number) <= MOST_COST


def seconds(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    if value is not None and not (math.isfinite(value) and value > 0):
        raise click.BadParameter(f"{value} is not a finite number of seconds above 0", context, option)
    return value


def check_places(output: Path | None, picture: Path | None, inputs: Sequence[str | Path]) -> None:
    """Refuse files that cannot or must not be written, before time is spent on planning."""
    if output == Path("-"):
        raise BadInput("-", "-o needs the name of a file; --json prints the plan on standard output")
    taken = {os.path.realpath(path): "an input" for path in inputs}
    for path, option in ((output, "-o"), (picture, "--draw")):
        if path is None:
            continue
        if os.path.isdir(path):
            raise BadInput(shown(path), "cannot be written: this is a folder")
        if not os.path.isdir(path.parent):
            raise BadInput(shown(path), f"cannot be written: there is no folder {shown(path.parent)}")
        if role := taken.get(os.path.realpath(path)):
            raise BadInput(shown(path), f"{option} would overwrite {role}")
        taken[os.path.realpath(path)] = f"what {option} writes"
    if picture is not None and picture.suffix.lower() not in SUFFIXES:
        raise BadInput(str(picture), f"the name of a picture must end in {', '.join(SUFFIXES)}")


def with_costs(from_file: ActionCosts, of_operations: dict[str, int]) -> ActionCosts:
    """The costs in the file, replaced by those of the command line where it gives some."""
    return ActionCosts(from_file.by_action, {**from_file.by_operation, **of_operations})
