"""What `regraft evaluate` prints: tables for people, one object for programs."""

from collections.abc import Sequence
from typing import Any

import click

from regraft.cli.printing import console, shown
from regraft.model.assessment import Assessment, ClassChange, Comparison, Number, plain

MOST_MEMBERS = 8
"""How many members of a class a table shows; JSON has all."""


def as_object(found: Assessment | Comparison, parts: bool) -> dict[str, Any]:
    """One topology: its numbers. Two: both, the differences, and the classes behind them."""
    if isinstance(found, Comparison):
        return {
            "first": as_object(found.first, parts),
            "second": as_object(found.second, parts),
            "difference": {name: plain(number) for name, number in found.differences().items()},
            "gains": [_class(each) for each in found.gains],
            "losses": [_class(each) for each in found.losses],
            "better": found.better,
            "worse": found.worse,
            "same": found.same,
        }
    answer = {"topology": found.topology, **found.as_json(), "notes": list(found.notes)}
    if parts:
        answer["parts"] = {
            name: {key: plain(number) for key, number in each.items()} for name, each in found.parts.items()
        }
    return answer


def _class(each: ClassChange) -> dict[str, Any]:
    return {
        "members": list(each.members),
        "demand": plain(each.demand),
        "before": plain(each.before),
        "after": plain(each.after),
        "change": plain(each.change),
    }


def show(found: Assessment | Comparison, names: Sequence[str], parts: bool) -> None:
    both = [found.first, found.second] if isinstance(found, Comparison) else [found]
    _numbers(both, names)
    if isinstance(found, Comparison):
        _classes("classes that gain most", found.gains)
        _classes("classes that lose most", found.losses)
        if found.better or found.worse or found.same:
            click.echo(f"{found.better} classes cost less, {found.worse} more, {found.same} the same")
    if parts:
        for assessment, name in zip(both, names, strict=True):
            for kind, each in assessment.parts.items():
                _parts(f"{kind.replace('_', ' ')} in {shown(name)}", each)
    for note in dict.fromkeys(note for each in both for note in each.notes):
        click.echo(note)


def _numbers(both: list[Assessment], names: Sequence[str]) -> None:
    from rich.table import Table

    table = Table("", *map(shown, names), *(["change"] if len(both) == 2 else []), header_style="bold")
    for name in dict.fromkeys(name for each in both for name in each.numbers):
        values = [each.numbers.get(name) for each in both]
        row = [_text(value) for value in values]
        if len(both) == 2:
            row.append(_change(*values))
        table.add_row(name.replace("_", " "), *row)
    console().print(table)


def _change(before: Number, after: Number) -> str:
    if before is None or after is None:
        return ""
    share = f" ({(after - before) / before:+.1%})" if before else ""
    return f"{_text(after - before, '+')}{share}"


def _classes(title: str, classes: Sequence[ClassChange]) -> None:
    from rich.table import Table

    if not classes:
        return
    click.echo(title)
    table = Table("members", "demand", "before", "after", "change", header_style="bold")
    for each in classes:
        members = ", ".join(map(shown, each.members[:MOST_MEMBERS]))
        if len(each.members) > MOST_MEMBERS:
            members += f" and {len(each.members) - MOST_MEMBERS} more"
        numbers = (_text(each.demand), _text(each.before), _text(each.after))
        table.add_row(members, *numbers, _change(each.before, each.after))
    console().print(table)


def _parts(title: str, values: "dict[str, Number] | Any") -> None:
    from rich.table import Table

    click.echo(title)  # rich would fold a title of the table to the table's width
    table = Table("", "", show_header=False)
    for name, value in values.items():
        table.add_row(shown(name), _text(value))
    console().print(table)


def _text(number: Number, sign: str = "") -> str:
    if number is None:
        return "-"
    return f"{number:{sign},.0f}" if float(number).is_integer() else f"{number:{sign},.4g}"
