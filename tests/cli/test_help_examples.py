"""Every example in every help text is run: in a folder with the files it names, beside one overlay."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from tests.cli.help_examples import examples, is_for_the_shell, write_files

from regraft.cli.entry import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = [sys.executable, "-u", "-c", "from regraft.cli import main; main()"]
SHELL = f'set -e; regraft() {{ {shlex.join(PROGRAM)} "$@"; }}; '
SHARED = "regraft up tree.json --heal --state state --telemetry s3://bucket/telemetry"
"""Starts the overlay that the examples about a running overlay use, with its telemetry in a folder."""
EXAMPLES = examples()
BESIDE: tuple[str, ...] = ("broker", "topology", "pub", "sub", "apply", "rearrange", "serve", "doctor")
BESIDE += ("brokers", "rules", "components", "znode")
"""Commands about a running overlay."""
ON_SPARK = ("measure", "what-if", "generate")
BOTH: tuple[str, ...] = (
    "plan",
    "design",
    "evaluate",
    "routes",
    "topology",
    "brokers",
    "doctor",
    "znode show",
)
BOTH += ("rules check", "rules list", "components list", "components verify")
"""Run as they are, and once more with --json; the others are run only with it."""
RUNS_ON = {
    "up": "brokers run",
    "broker": "runs at",
    "demo": "\n",  # tests/cli/test_demo_command.py runs it to its end
    "sub": "subscribed at",
    "rearrange": "brokers watch",
    "serve": "The loop runs",
}
"""Commands that end at Ctrl-C, and what they say when they run."""
WAIT_SECONDS = 300.0


@contextmanager
def started(line: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Start the command and wait until it says that it runs; stop it at the end, as Ctrl-C does."""
    words = shlex.split(line)[1:]
    said = folder / f"said-{time.monotonic_ns()}"
    with said.open("w") as out:
        process = subprocess.Popen([*PROGRAM, *words], cwd=folder, stdout=out, stderr=out, text=True)
    try:
        until = time.monotonic() + WAIT_SECONDS
        while RUNS_ON[words[0]] not in said.read_text():
            assert process.poll() is None, said.read_text()
            assert time.monotonic() < until, said.read_text()
            time.sleep(0.05)
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(WAIT_SECONDS)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples") / "files"
    folder.mkdir()
    write_files(folder)
    return folder


@pytest.fixture(scope="module")
def overlay(files: Path) -> Iterator[dict[str, Any]]:
    """Where the overlay is, with two hosts of components, a plan and a configuration."""
    folder = files.parent / "overlay"
    shutil.copytree(files, folder, ignore=shutil.ignore_patterns("out"))
    with ExitStack() as running:
        running.enter_context(started(SHARED.replace("s3://bucket", "out"), folder))
        found = json.loads((folder / "out" / "overlay.json").read_text())
        for line in ("plan tree.json better.json -o plan.json", "init", "components key me.pem"):
            subprocess.run([*PROGRAM, *line.split()], cwd=folder, check=True, capture_output=True)
        (folder / "trusted").mkdir()
        shutil.copy(folder / "me.pem.pub", folder / "trusted")
        for id in ("b1", "b2"):
            running.enter_context(_host(id, found["zookeeper"], folder))
        yield {"folder": folder, **found}


@contextmanager
def _host(id: str, zookeeper: str, folder: Path) -> Iterator[None]:
    options = ("--id", id, "--folder", f"host-{id}", "--trusted", "trusted", "--zookeeper", zookeeper)
    command = [sys.executable, "-m", "regraft.components", *options]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        yield
        process.terminate()


def here(line: str, overlay: dict[str, Any]) -> str:
    """The same line with the machines, ports and clusters that are here."""
    addresses = [row["address"] for row in overlay["brokers"].values()]
    for there, now in (
        ("zk1:2181,zk2:2181,zk3:2181", f"{overlay['zookeeper']} --zookeeper-root /elsewhere"),
        ("--port 7000 --address b1.example.net:7000", "--port 0 --address 127.0.0.1:9"),
        ("/var/lib/regraft", "state-b1"),
        ("127.0.0.1:2181", overlay["zookeeper"]),
        ("127.0.0.1:7000", addresses[0]),
        ("127.0.0.1:7001", addresses[1]),
    ):
        line = line.replace(there, now)
    return line


def run(line: str, folder: Path) -> None:
    """It ends by itself, without a fault; with --json, its answer is one JSON object."""
    if is_for_the_shell(line):
        home = {**os.environ, "HOME": str(folder)}
        done = subprocess.run(
            ["bash", "-c", SHELL + line], cwd=folder, env=home, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return
    words = shlex.split(line)[1:]
    if "--help" in words or any(" ".join(words).startswith(both) for both in BOTH):
        assert invoked(words, folder)
    if "--help" not in words:
        document = json.loads(invoked(words if "--json" in words else [*words, "--json"], folder))
        assert isinstance(document, dict)


def invoked(words: list[str], folder: Path) -> str:
    """What it says on standard output."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(main, words)
    finally:
        os.chdir(before)
    assert result.exit_code == 0, result.output
    return result.stdout


def is_on_spark(line: str) -> bool:
    return line.split()[1] in ON_SPARK


def marked(line: str) -> Any:
    slow = line.split()[1] in ("up", "demo", "serve", "lab")
    return pytest.param(line, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.xdist_group("help examples")  # one overlay
@pytest.mark.parametrize(
    "line", [marked(line) for line in EXAMPLES if line != SHARED and not is_on_spark(line)]
)
def test_the_example_works(line: str, files: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    words = shlex.split(line)
    assert words[0] == "regraft"
    if words[1] in BESIDE and words[1:3] != ["components", "key"]:
        overlay = request.getfixturevalue("overlay")
        folder, line = overlay["folder"], here(line, overlay)
    else:
        folder = tmp_path / "files"
        shutil.copytree(files, folder)
    if words[1] in RUNS_ON and "--help" not in words:
        with started(line, folder) as process:
            pass
        assert process.returncode in (0, 130)
    else:
        run(line, folder)


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in EXAMPLES if is_on_spark(line)])
def test_the_example_on_spark_works(
    line: str, files: Path, spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uses the Spark session of the other tests; a command must not stop it."""
    monkeypatch.setattr(type(spark), "stop", lambda session: None)
    folder = files.parent / "spark"
    if not folder.exists():
        shutil.copytree(files, folder, ignore=shutil.ignore_patterns("tables"))  # they are measured here
    run(_with_whole_paths(line, folder).replace("--follow", "--follow --stop-when-idle 1"), folder)


def _with_whole_paths(line: str, folder: Path) -> str:
    """Absolute paths: Java was started in another folder."""
    words = shlex.split(line)
    for place, (before, word) in enumerate(pairwise(words), 1):
        if before == "--out" or ("." in word and (folder / word).exists()) or "/" in word:
            words[place] = str(folder / word)
    return shlex.join(words)


def test_the_examples_are_found() -> None:
    assert SHARED in EXAMPLES
    assert len(EXAMPLES) > 70
    assert all(re.match("regraft [a-z]", line) for line in EXAMPLES)
