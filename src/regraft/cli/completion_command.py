"""`regraft completion`: prints the script by which a shell completes commands and options; click makes it."""

import json

import click
from click.shell_completion import get_completion_class

from regraft.cli.help_headings import Command

VARIABLE = "_REGRAFT_COMPLETE"
"""The environment variable by which the script asks `regraft` for completions."""


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def completion(context: click.Context, shell: str, as_json: bool) -> None:
    """Print the script that teaches SHELL to complete `regraft`.

    \b
    Examples:
      regraft completion bash >~/.local/share/bash-completion/completions/regraft
      regraft completion zsh >_regraft        # to a folder in fpath, before compinit
      regraft completion fish >~/.config/fish/completions/regraft.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None  # click knows the three names above
    script = kind(context.find_root().command, {}, "regraft", VARIABLE).source()
    click.echo(json.dumps({"shell": shell, "script": script}) if as_json else script)
