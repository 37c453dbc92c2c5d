"""`regraft completion` prints what a shell needs, and the shell's question is answered."""

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from regraft.cli.entry import main


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    code = "from regraft.cli.entry import main; main(prog_name='regraft')"
    environment = {**os.environ, **variables}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_regraft_in_the_words_of_the_shell(shell: str) -> None:
    done = CliRunner().invoke(main, ["completion", shell, "--json"])
    found = json.loads(done.output)
    assert found["shell"] == shell
    assert f"_REGRAFT_COMPLETE={shell}_complete" in found["script"]


def test_an_unknown_shell_is_refused() -> None:
    assert CliRunner().invoke(main, ["completion", "tcsh"]).exit_code == 2


def test_a_started_word_is_completed() -> None:
    done = run(_REGRAFT_COMPLETE="bash_complete", COMP_WORDS="regraft plan --pa", COMP_CWORD="2")
    assert done.stdout.splitlines() == ["plain,--pareto"]
