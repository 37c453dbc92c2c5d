"""`regraft up` as a process, for the tests of the commands that talk to it."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = [sys.executable, "-c", "from regraft.cli import main; main()"]
CHAIN: dict[str, Any] = {"brokers": ["a", "b", "c"], "links": [["a", "b"], ["b", "c"]]}


@contextmanager
def running(folder: Path, *options: str, topology: dict[str, Any] | str = CHAIN) -> Iterator[dict[str, Any]]:
    """Three brokers in a chain (or another topology, or a file of one), without agents unless the options say
    `--agents`; what `--json` printed."""
    if "--agents" not in options:
        options = ("--no-agents", *options)
    options = tuple(option for option in options if option != "--agents")
    if isinstance(topology, dict):
        (folder / "now.json").write_text(json.dumps(topology))
        topology = "now.json"
    command = [*PROGRAM, "up", topology, "--json", *options]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as up:
        try:
            assert up.stdout is not None
            line = up.stdout.readline()
            assert line, up.communicate()[1]
            yield json.loads(line) | {"process": up}
        finally:
            up.send_signal(signal.SIGTERM)
            try:
                up.wait(20)
            finally:
                up.kill()


def subscribed(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """`regraft sub` as a process, once its subscription is in place."""
    command = [*PROGRAM, "sub", *arguments]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("subscribed at ")
    return process
