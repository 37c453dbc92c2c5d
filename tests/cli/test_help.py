"""Help: commands in groups, whole summaries, rare options on demand, names nearly right."""

import click
import pytest
from tests.cli.conftest import Run, refused
from tests.cli.help_examples import WIDTH, commands

from regraft.cli.entry import COMMANDS, SECTIONS
from regraft.cli.help_headings import Command, Group, HeadedOption

EVERY = list(commands())
LEAVES = [context for context in EVERY if not isinstance(context.command, click.Group)]


def path(context: click.Context) -> str:
    return context.command_path


def test_the_commands_are_grouped_by_what_people_do(regraft: Run) -> None:
    shown = regraft("--help").stdout
    places = [shown.index(f"\n{heading}:\n") for heading in SECTIONS]
    assert places == sorted(places)
    assert "\nCommands:\n" not in shown
    assert len(COMMANDS) == sum(map(len, SECTIONS.values())), "no command is in two groups"


@pytest.mark.parametrize("context", EVERY, ids=path)
def test_every_summary_is_shown_whole(context: click.Context) -> None:
    if not isinstance(context.command, click.Group):
        return
    shown = context.get_help().partition("\n\n")[2]  # after `COMMAND [ARGS]...`
    for name in context.command.list_commands(context):
        (line,) = (line for line in shown.splitlines() if line.split()[:1] == [name] and line[2:3] != " ")
        assert len(line) <= WIDTH
        assert not line.endswith("..."), line


@pytest.mark.parametrize("context", EVERY, ids=path)
def test_every_command_has_headings_and_every_option_a_text(context: click.Context) -> None:
    assert isinstance(context.command, Command | Group)
    options = [each for each in context.command.get_params(context) if isinstance(each, click.Option)]
    assert [option.opts for option in options if not (option.help or "").strip()] == []


@pytest.mark.parametrize("context", LEAVES, ids=path)
def test_every_command_takes_json(context: click.Context) -> None:
    assert "--json" in {name for option in context.command.params for name in option.opts}


def test_the_short_help_leaves_the_advanced_options_out_and_says_how_to_see_them(regraft: Run) -> None:
    short, full = regraft("topology", "--help").stdout, regraft("topology", "--help-all").stdout
    assert "--zookeeper HOST" in short
    assert "--zookeeper-" not in short
    assert "--help-all         Show also 7 advanced options (ZooKeeper)." in short
    assert "\nAdvanced (ZooKeeper):\n" in full
    assert full.count("--zookeeper-") == 7


@pytest.mark.parametrize("context", EVERY, ids=path)
def test_the_full_help_has_every_option(context: click.Context, regraft: Run) -> None:
    words = regraft(*context.command_path.split()[1:], "--help-all").stdout.replace(",", " ").split()
    rare = [each for each in context.command.params if isinstance(each, HeadedOption) and each.advanced]
    for option in context.command.params:
        assert isinstance(option, click.Argument) or option.opts[-1] in words
    assert all(option.required is False for option in rare), "what must be given is never hidden"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["toplogy"], "No such command 'toplogy'. Did you mean topology? (see regraft --help)"),
        (["design", "greedyk"], "Did you mean greedy-k? (see regraft design --help)"),
        (["rules", "chekc"], "Did you mean check? (see regraft rules --help)"),
        (["lab", "ktc"], "Did you mean ktco? (see regraft lab --help)"),
        (["plan", "--interst", "x"], "Did you mean '--interest'? (see regraft plan --help)"),
        (["xyzzy"], "No such command 'xyzzy'. (see regraft --help)"),
    ],
)
def test_a_name_nearly_right_is_answered_with_those_that_look_like_it(
    arguments: list[str], hint: str, regraft: Run
) -> None:
    assert hint in refused(regraft(*arguments))
