"""How help shows commands and options: options under headings, rarely needed ones only in `--help-all`.

Every command of the program is a `Command`, every group of commands a `Group` (tests/cli/test_help.py). An
option names its heading where it is declared: `click.option("--resume", ..., **under("A run that has
begun"))`. An advanced one works and completes like any other; only the short help leaves it out. A mistyped
command is answered with the names that look like it; click does the same for options.
"""

import importlib
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, ClassVar

import click

GENERAL, OUTPUT = "Options", "Output and help"
WRITTEN = ("--out", "--output", "--draw", "--json", "--help", "--help-all")
"""Options that are under `OUTPUT` in every command."""
ALL = "regraft.cli.help_all"
"""A key in the `meta` of a click context: help shows the advanced options too."""


class HeadedOption(click.Option):
    """An option whose heading in the help says what it is about."""

    def __init__(self, *names: Any, about: str, advanced: bool, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.about = about
        self.advanced = advanced

    @property
    def heading(self) -> str:
        if not self.advanced:
            return self.about
        return f"Advanced ({self.about})" if self.about else "Advanced"


def under(about: str) -> dict[str, Any]:
    """Settings of `click.option`: shown under this heading."""
    return {"cls": HeadedOption, "about": about, "advanced": False}


def advanced(about: str = "") -> dict[str, Any]:
    """Settings of `click.option`: shown by `--help-all` only."""
    return {"cls": HeadedOption, "about": about, "advanced": True}


def _show_all(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(full_help(context), color=context.color)
        context.exit()


HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show this message with the advanced options.",
)


def full_help(context: click.Context) -> str:
    """What `--help-all` prints."""
    context.meta[ALL] = True
    return context.get_help()


class Command(click.Command):
    """A command whose help has headings."""

    output_heading = OUTPUT
    """The heading of the options in `WRITTEN`."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), HELP_ALL]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {GENERAL: []}
        left_out: list[HeadedOption] = []
        for option in self.get_params(ctx):
            row = option.get_help_record(ctx)
            if row is None or isinstance(option, click.Argument) or option is HELP_ALL:
                continue
            if isinstance(option, HeadedOption) and option.advanced and not ctx.meta.get(ALL):
                left_out.append(option)
            else:
                sections.setdefault(self._heading(option), []).append(row)
        if left_out:
            sections[self.output_heading].append(("--help-all", f"Show also {_counted(left_out)}."))
        for heading in _in_order(sections):
            with formatter.section(heading):
                formatter.write_dl(sections[heading])

    def _heading(self, option: click.Parameter) -> str:
        if isinstance(option, HeadedOption):
            return option.heading
        return self.output_heading if any(name in WRITTEN for name in option.opts) else GENERAL


class Group(Command, click.Group):
    """A group of such commands; a name that it does not have is answered with those that look like it."""

    command_class = Command
    output_heading = GENERAL

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of declaration, which is that of use; click would sort them

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        Command.format_options(self, ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            close = get_close_matches(name, self.list_commands(ctx))
            hint = f" Did you mean {' or '.join(close)}?" if close else ""
            raise click.UsageError(f"No such command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
    """A group that imports a command when it is used: `--help` of one command does not load the others."""

    places: ClassVar[dict[str, str]]
    """The name of each command → its module in this package and its name there, as `module:name`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.places:
            return None
        module, _, name = self.places[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(f"regraft.cli.{module}"), name)
        return command


def _in_order(sections: dict[str, list[tuple[str, str]]]) -> list[str]:
    """The general options first, then those with headings, output and help, and the advanced ones last."""
    filled = [heading for heading, rows in sections.items() if rows]
    return sorted(filled, key=lambda heading: (heading.startswith("Advanced"), heading == OUTPUT))


def _counted(options: Sequence[HeadedOption]) -> str:
    """How many options are left out, and what they are about."""
    about = dict.fromkeys(option.about for option in options if option.about)
    noun = "option" if len(options) == 1 else "options"
    return f"{len(options)} advanced {noun}" + (f" ({', '.join(about)})" if about else "")
