"""The entry: fast help that teaches, versions, and nothing loaded that is not needed."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from regraft import __version__

HEAVY = ("matplotlib", "networkx", "numba", "numpy", "ortools", "highspy", "scipy", "rich", "regraft.plan")


def test_help_names_the_commands_and_how_to_start(regraft: Run) -> None:
    result = regraft("--help")
    assert result.exit_code == 0
    for word in ("plan", "demo", "lab", "--json", "Exit codes"):
        assert word in result.stdout


def test_the_help_of_plan_shows_files_and_examples(regraft: Run) -> None:
    text = regraft("plan", "--help").stdout
    for word in ('{"brokers"', "Examples:", "--max-degree", "--draw", "--pareto", "exact-each-path"):
        assert word in text


def test_every_planner_is_in_the_help(regraft: Run) -> None:
    from regraft.plan import PLANNERS

    text = " ".join(regraft("plan", "--help").stdout.split()).replace("- ", "-")
    for name in PLANNERS:
        assert name in text


def test_the_version_is_printed(regraft: Run) -> None:
    assert __version__ in regraft("--version").stdout


def test_no_arguments_show_the_help(regraft: Run) -> None:
    assert "Start here" in regraft().output


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["plan", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    program = (
        "import json, sys\n"
        "from regraft.cli import main\n"
        "try: main()\n"
        "except SystemExit: print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    )
    assert not set(HEAVY) & set(json.loads(ended.stderr))


def test_a_reader_that_leaves_early_is_no_fault(folder: Path) -> None:
    program = "from regraft.cli import main; main()"
    command = f"{shlex.quote(sys.executable)} -c '{program}' plan --help | head -n 1"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert ended.stdout.startswith("Usage:")
    assert ended.stderr == ""


def test_ids_print_on_a_terminal_that_lacks_their_letters(folder: Path) -> None:
    for name in ("now.json", "goal.json"):
        (folder / name).write_text((folder / name).read_text().replace('"a"', '"caf\\u00e9"'))
    ended = subprocess.run(
        [sys.executable, "-c", "from regraft.cli import main; main()", "plan", "now.json", "goal.json"],
        capture_output=True,
        check=False,
        env={"PYTHONIOENCODING": "ascii", "PATH": ""},
    )
    assert ended.returncode == 0, ended.stderr
    assert b"caf\\xe9" in ended.stdout


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize("arguments", ["--help", "plan now.json goal.json -o plan.json"])
def test_a_closed_stream_is_no_fault(arguments: str, closed: str, folder: Path) -> None:
    command = f"{shlex.quote(sys.executable)} -c 'from regraft.cli import main; main()' {arguments} {closed}"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "Error" not in ended.stderr
    assert (folder / "plan.json").exists() == arguments.startswith("plan")


def test_an_interrupt_while_loading_ends_without_a_traceback() -> None:
    program = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'click': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from regraft.cli import main\n"
        "main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
