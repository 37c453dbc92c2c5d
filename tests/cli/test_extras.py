"""Without the optional packages the core works, and what needs one names the extra in one line."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from regraft.cli.entry import EXTRAS, missing_extra

ROOT = Path(__file__).resolve().parents[2]
DRAWN_IN = {"pydantic": "fastapi", "starlette": "fastapi"}
"""Packages that are imported, but are installed with another one."""

# A machine on which only `pip install regraft` was done. pandas stays: ortools brings it.
BARE = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(set(EXTRAS) - {"pandas"})!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""
CORE: tuple[str, ...] = ("broker.io.server", "client", "coord", "deploy", "design", "evaluate", "filters")
CORE += ("flows", "heal", "loop", "model", "plan", "protocol", "routes")


def bare(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BARE + code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def regraft(*arguments: object) -> subprocess.CompletedProcess[str]:
    return bare("from regraft.cli.entry import main; main(prog_name='regraft')", *map(str, arguments))


def test_the_core_and_every_command_load_without_the_optional_packages() -> None:
    load = f"import importlib; [importlib.import_module('regraft.' + name) for name in {CORE!r}]\n"
    load += "from regraft.cli.entry import main, COMMANDS\n"
    load += "import click; context = click.Context(main)\n"
    load += "print(len([main.get_command(context, name).get_short_help_str() for name in COMMANDS]))"
    done = bare(load)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


def test_planning_needs_no_extra_and_drawing_names_the_one_it_needs(tmp_path: Path) -> None:
    now, goal = tmp_path / "now.json", tmp_path / "goal.json"
    now.write_text('{"brokers": ["a", "b", "c"], "links": [["a", "b"], ["b", "c"]]}')
    goal.write_text('{"brokers": ["a", "b", "c"], "links": [["a", "c"], ["b", "c"]]}')
    planned = regraft("plan", now, goal, "--json")
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["steps"] == 1
    drawn = regraft("plan", now, goal, "--draw", tmp_path / "plan.svg")
    assert drawn.returncode == 1
    assert drawn.stderr.splitlines()[-1] == (
        "regraft: this needs the package matplotlib, which is not installed: pip install 'regraft[draw]'"
    )


def test_every_package_of_an_extra_is_known_by_the_name_it_is_imported_by() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {name: asked for name, asked in project["optional-dependencies"].items() if name != "all"}
    promised = {
        Requirement(each).name.replace("-", "_"): name for name, asked in extras.items() for each in asked
    }
    assert {package: extra for package, extra in EXTRAS.items() if package not in DRAWN_IN} == promised
    assert all(EXTRAS[package] == EXTRAS[other] for package, other in DRAWN_IN.items())
    everything = Requirement(project["optional-dependencies"]["all"][0])
    assert (everything.name, everything.extras) == ("regraft", set(extras))


@pytest.mark.parametrize(
    "fault", [ModuleNotFoundError("?"), ModuleNotFoundError("?", name="regraft.plans"), OSError()]
)
def test_another_fault_is_not_taken_for_a_missing_extra(fault: Exception) -> None:
    assert missing_extra(fault) is None
