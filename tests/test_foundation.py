"""The scripts, the locks and the import layers keep what the documents promise."""

import configparser
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted([*(ROOT / "scripts").iterdir(), ROOT / ".ci" / "run"])
LOCKS = sorted(ROOT.glob("requirements*.lock"))
PURE = ("evaluate", "design", "plan", "routes")
"""Packages whose results depend on their arguments alone."""
TOOLS = (
    *("bash", "cat", "chmod", "cut", "dirname", "env", "find", "flock", "grep", "head", "id", "mkdir"),
    *("readlink", "rm", "sed", "sh", "sha256sum", "sort", "xargs"),
)
"""What the scripts may expect of a machine, beside Python."""

# Stands for uv: writes down how it was called, and makes an environment of one file.
UV = """#!/bin/sh
[ "$1" = --version ] && { echo "uv ${UV_STUB_VERSION:-9.9.9}"; exit; }
echo "uv $*" >>"$LOG"
if [ "$1" = venv ]; then
  for last; do :; done
  mkdir -p "$last/bin"
  printf '#!/bin/sh\\nif [ "$1" = -m ]; then echo "python $*" >>"$LOG"; fi\\n' >"$last/bin/python"
  chmod +x "$last/bin/python"
fi
"""
JAVA = '#!/bin/sh\necho "openjdk version \\"$JAVA_STUB\\" 2025-01-01" >&2\n'
APT = '#!/bin/sh\necho "apt-get $*" >>"$LOG"\nexit ${APT_STUB_EXIT:-0}\n'
PYTHON = "#!/bin/sh\necho /the/python\n"
# A Debian Python without its venv and pip packages.
BARE_PYTHON = '#!/bin/sh\ncase "$*" in *ensurepip*|*pip*) exit 1;; *) echo "$0";; esac\n'


class Machine:
    """A clone in a folder with a space in its name, on a machine of stubs."""

    def __init__(self, place: Path) -> None:
        self.repository = place / "a clone"
        self.bin = place / "bin"
        self.log = place / "log"
        self.bin.mkdir()
        for tool in TOOLS:
            if found := shutil.which(tool):
                (self.bin / tool).symlink_to(found)
        shutil.copytree(ROOT / "scripts", self.repository / "scripts")
        for file in ["pyproject.toml", *(lock.name for lock in LOCKS)]:
            shutil.copy(ROOT / file, self.repository)
        self.has("uv", UV)
        self.has("python3", PYTHON)
        self.has("java", JAVA)
        self.has("id", "#!/bin/sh\necho 1000\n")

    def has(self, name: str, text: str) -> None:
        (self.bin / name).unlink(missing_ok=True)
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def run(self, script: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.bin), "LOG": str(self.log), "JAVA_STUB": "17.0.1", **variables}
        command = [str(self.repository / "scripts" / script), *arguments]
        return subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False)

    def calls(self) -> list[str]:
        calls = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return calls


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def pinned(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^ ;]+)", lock.read_text(), re.MULTILINE))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: str(script.name))
def test_a_script_is_executable_bash_that_stops_at_the_first_error(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert script.read_text().startswith("#!/usr/bin/env bash\n")
    assert "\nset -euo pipefail\n" in script.read_text()
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0


def test_setup_installs_the_lock_with_hashes_then_the_package_itself(machine: Machine) -> None:
    done = machine.run("setup")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    venv, lock, package = machine.calls()
    assert venv.startswith("uv venv ")
    assert "--python /the/python" in venv
    assert lock.endswith(f"--require-hashes -r {machine.repository}/requirements.lock")
    assert package.endswith(f"--no-deps --no-build-isolation -e {machine.repository}")


def test_setup_does_nothing_when_nothing_has_changed(machine: Machine) -> None:
    machine.run("setup")
    machine.calls()
    again = machine.run("setup")
    assert (again.returncode, again.stderr, machine.calls()) == (0, "", [])


def test_setup_installs_again_when_the_lock_has_changed(machine: Machine) -> None:
    machine.run("setup")
    machine.calls()
    with (machine.repository / "requirements.lock").open("a") as lock:
        lock.write("# changed\n")
    machine.run("setup")
    assert [call.split()[1] for call in machine.calls()] == ["pip", "pip"]


def test_setup_makes_a_new_environment_after_the_folder_has_moved(machine: Machine) -> None:
    machine.run("setup")
    machine.calls()
    machine.repository = machine.repository.rename(machine.repository.with_name("moved"))
    machine.run("setup")
    assert machine.calls()[0].startswith("uv venv ")


def test_setup_tries_again_after_a_failure(machine: Machine) -> None:
    machine.has("uv", UV + '[ "$2" != install ]\n')
    assert machine.run("setup").returncode != 0
    machine.has("uv", UV)
    machine.calls()
    assert machine.run("setup").returncode == 0
    assert machine.calls() != []


def test_only_the_benchmarks_get_the_benchmark_lock(machine: Machine) -> None:
    machine.run("setup")
    assert not any("requirements-bench.lock" in call for call in machine.calls())
    machine.run("setup", "--bench")
    assert [call.rpartition("/")[2] for call in machine.calls()] == ["requirements-bench.lock"]


def test_the_planner_is_compiled_once_for_each_version_of_its_kernels(machine: Machine) -> None:
    plan = machine.repository / "src" / "regraft" / "plan"
    plan.mkdir(parents=True)
    (plan / "warm.py").touch()
    machine.run("setup")
    assert machine.calls()[-1] == "python -m regraft.plan.warm"
    machine.run("setup")
    assert machine.calls() == []
    (plan / "kernel.py").touch()
    machine.run("setup")
    assert machine.calls() == ["python -m regraft.plan.warm"]


@pytest.mark.parametrize("version", ["", "1.8.0_402", "11.0.20"])
def test_without_java_17_setup_warns_in_one_line_and_succeeds(machine: Machine, version: str) -> None:
    machine.has("apt-get", APT)
    done = machine.run("setup", JAVA_STUB=version)
    assert done.returncode == 0
    assert len(re.findall("warning: no Java 17", done.stderr)) == 1
    assert not any(call.startswith("apt-get") for call in machine.calls())


def test_root_gets_java_from_the_system_packages(machine: Machine) -> None:
    machine.has("id", "#!/bin/sh\necho 0\n")
    machine.has("apt-get", APT)
    (machine.bin / "java").unlink()
    assert machine.run("setup").returncode == 0
    assert "apt-get install -y -q --no-install-recommends default-jre-headless" in machine.calls()


def test_setup_succeeds_when_the_system_packages_can_not_be_installed(machine: Machine) -> None:
    machine.has("id", "#!/bin/sh\necho 0\n")
    machine.has("apt-get", APT)
    (machine.bin / "java").unlink()
    done = machine.run("setup", APT_STUB_EXIT="100")
    assert done.returncode == 0
    assert "warning: no Java 17" in done.stderr


def test_a_python_without_pip_and_venv_is_named_with_its_remedy(machine: Machine) -> None:
    (machine.bin / "uv").unlink()
    machine.has("python3", BARE_PYTHON)
    done = machine.run("setup")
    assert done.returncode == 1
    assert "apt-get install python3-venv" in done.stderr.splitlines()[-1]


def test_root_gets_pythons_venv_from_the_system_packages(machine: Machine) -> None:
    (machine.bin / "uv").unlink()
    machine.has("python3", BARE_PYTHON)
    machine.has("id", "#!/bin/sh\necho 0\n")
    machine.has("apt-get", APT)
    machine.run("setup")
    assert "apt-get install -y -q --no-install-recommends python3-venv" in machine.calls()


def test_a_python_that_is_too_old_is_refused(machine: Machine) -> None:
    machine.has("python3", "#!/bin/sh\nexit 1\n")
    done = machine.run("setup")
    assert done.returncode == 1
    assert "Python 3.11 or later is needed" in done.stderr


def test_a_uv_that_is_too_old_is_not_used(machine: Machine) -> None:
    machine.has("python3", BARE_PYTHON)
    machine.run("setup", UV_STUB_VERSION="0.1.0")
    assert machine.calls() == []


FORBIDDEN = [
    ("hosts", "see https://" + "pypi" + ".org/simple"),
    ("hosts", "pip install --index" + "-url=x"),
    ("hosts", "PIP" + "_INDEX" + "_URL=x"),
    ("paths", 'open("/ho' + 'me/someone/file")'),
    ("paths", "/wo" + "rk/shared is at the start of the line"),
]


@pytest.mark.parametrize(("check", "text"), FORBIDDEN)
def test_check_finds_a_registry_and_a_path_of_one_machine(machine: Machine, check: str, text: str) -> None:
    assert machine.run("check", check).returncode == 0
    (machine.repository / "note.md").write_text(text + "\n")
    done = machine.run("check", check)
    assert done.returncode == 1
    assert "note.md:1:" in done.stdout


def test_check_lets_urls_and_relative_paths_pass(machine: Machine) -> None:
    text = "docs/work/home.md https://example.org/home/ $HOME/work/ ~/work/ {tmp}/work/ --no-emit-index-url\n"
    (machine.repository / "note.md").write_text(text)
    assert machine.run("check", "hosts", "paths").returncode == 0


def test_check_refuses_an_unknown_name(machine: Machine) -> None:
    assert machine.run("check", "spelling").returncode == 2


def test_bench_lists_the_benchmarks_and_refuses_an_unknown_one(machine: Machine) -> None:
    (machine.repository / "benchmarks").mkdir()
    (machine.repository / "benchmarks" / "plan.py").write_text('"""Planners compared."""\n')
    (machine.repository / "benchmarks" / "_shared.py").write_text('"""Not one."""\n')
    listed = machine.run("bench")
    assert listed.stdout.splitlines()[1:] == ["  plan             Planners compared."]
    refused = machine.run("bench", "plans")
    assert refused.returncode == 2
    assert "plan " in refused.stderr
    assert machine.run("bench", "_shared").returncode == 2


def test_bench_runs_a_benchmark_as_a_module_with_its_options(machine: Machine) -> None:
    (machine.repository / "benchmarks").mkdir()
    (machine.repository / "benchmarks" / "plan.py").write_text('"""Planners compared."""\n')
    assert machine.run("bench", "plan", "--size", "a b").returncode == 0
    assert machine.calls()[-1] == "python -m benchmarks.plan --size a b"


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: str(lock.name))
def test_a_lock_pins_every_package_with_hashes_and_names_no_host(lock: Path) -> None:
    text = lock.read_text()
    assert pinned(lock)
    assert "://" not in text
    entries = re.split(r"\n(?=[A-Za-z0-9])", text)[1:]
    assert all("==" in entry and "--hash=sha256:" in entry for entry in entries)


def test_the_locks_fit_pyproject() -> None:
    project = pyproject()
    groups = project["dependency-groups"]
    extras = [
        asked
        for name, extra in project["project"]["optional-dependencies"].items()
        for asked in extra
        if name != "all"
    ]
    for name, asked in {
        "requirements.lock": project["project"]["dependencies"] + extras + groups["dev"],
        "requirements-bench.lock": groups["bench"],
        "requirements-docs.lock": groups["docs"],
        "requirements-uv.lock": groups["bootstrap"],
    }.items():
        versions = {canonicalize_name(package): version for package, version in pinned(ROOT / name).items()}
        for requirement in map(Requirement, asked):
            assert versions[canonicalize_name(requirement.name)] in requirement.specifier, requirement


@pytest.mark.parametrize("first", ["highspy", "ortools.sat.python.cp_model"])
def test_both_solvers_load_in_one_process_in_either_order(first: str) -> None:
    """Each brings a HiGHS library of the same name; versions that differ too far break the second."""
    imports = f"import {first}, highspy, ortools.sat.python.cp_model"
    done = subprocess.run([sys.executable, "-c", imports], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_dependency_has_its_reason_written_down() -> None:
    project = pyproject()
    reasons = (ROOT / "docs" / "dependencies.md").read_text()
    extras = project["project"]["optional-dependencies"].values()
    groups = [project["project"]["dependencies"], *extras, *project["dependency-groups"].values()]
    names = {Requirement(asked).name for group in groups for asked in group} - {"regraft"}
    missing = [name for name in names if f"| {name} |" not in reasons]
    assert missing == []


def test_every_pure_package_that_exists_is_kept_from_network_cluster_and_clock() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    kept = contracts["importlinter:contract:pure"]["source_modules"].split()
    there = [name for name in PURE if (ROOT / "src" / "regraft" / name).is_dir()]
    assert {f"regraft.{name}" for name in there} <= set(kept)


def test_a_test_run_that_is_killed_leaves_no_process_behind(tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_long.py").write_text(
        "import subprocess\ndef test_long():\n    subprocess.run(['sleep', '1000'], start_new_session=True)\n"
    )
    here = ["-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    with subprocess.Popen([sys.executable, "-m", "pytest", *here], cwd=tmp_path) as run:
        sleeper = _until(lambda: _processes("sleep", str(run.pid)))
        run.kill()
    _until(lambda: not Path(f"/proc/{sleeper}").exists())


def _processes(name: str, parent: str) -> str | None:
    """The process of this name and parent, if there is one."""
    for each in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            before, _, after = each.read_text().partition(") ")
            if before.endswith(f"({name}") and after.split()[1] == parent:
                return each.parent.name
    return None


def _until(found: Callable[[], T]) -> T:
    deadline = time.monotonic() + 120
    while not (there := found()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return there
