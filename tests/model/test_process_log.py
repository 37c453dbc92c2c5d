"""REGRAFT_LOG sets the level of a process's log."""

import os
import subprocess
import sys

import pytest

LOGGED = (
    "from regraft.model.process_log import start_logging; start_logging(); "
    "import logging; logging.getLogger('one').info('info'); logging.getLogger('one').warning('warning')"
)


@pytest.mark.parametrize(
    ("level", "code", "said"),
    [
        (None, 0, "one: warning\n"),
        ("", 0, "one: warning\n"),
        ("info", 0, "one: info\none: warning\n"),
        ("ERROR", 0, ""),
        (
            "loud",
            2,
            "regraft: REGRAFT_LOG: must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL, not 'loud'\n",
        ),
    ],
)
def test_as_much_is_logged_as_the_variable_says(level: str | None, code: int, said: str) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "REGRAFT_LOG"}
    if level is not None:
        environment["REGRAFT_LOG"] = level
    done = subprocess.run(
        [sys.executable, "-c", LOGGED], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (code, said)
