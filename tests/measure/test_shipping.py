"""What is sent to workers is this package, and what they need besides is what `NEEDED` says."""

import re
import subprocess
import zipfile
from importlib.metadata import requires
from pathlib import Path

from tests.measure.processes import bare_python, elsewhere

import regraft
from regraft.measure.shipping import HINT, NEEDED, archive

IMPORTED = (
    *("regraft.measure.stored_files", "regraft.measure.follow", "regraft.measure.looking"),
    *("regraft.measure.lake", "regraft.measure.transforms.filter_similarity"),
    *("regraft.measure.transforms.filters", "regraft.broker.core.mesh_streams", "regraft.filters"),
)
"""What workers load for functions of ours, and what these functions import."""


def test_the_same_modules_give_the_same_small_file(tmp_path: Path) -> None:
    content = archive()
    assert archive() == content
    assert len(content) < 3_000_000
    (tmp_path / "all.zip").write_bytes(content)
    source = Path(regraft.__file__).parent
    modules = {path.relative_to(source.parent).as_posix(): path for path in source.rglob("*.py")}
    with zipfile.ZipFile(tmp_path / "all.zip") as whole:
        assert whole.namelist() == sorted(modules)
        assert all(whole.read(name) == path.read_bytes() for name, path in modules.items())


def test_workers_need_the_packages_that_are_asked_for_and_no_other(tmp_path: Path) -> None:
    sent = tmp_path / "sent.zip"
    sent.write_bytes(archive())
    program = f"""
import sys
sys.path.insert(0, {str(sent)!r})
import {", ".join(IMPORTED)}
print(regraft.__file__)
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""
    python = bare_python(tmp_path / "python")
    ran = subprocess.run([python, "-c", program], env=elsewhere(), capture_output=True, text=True, check=True)
    place, loaded = ran.stdout.splitlines()
    assert Path(place).is_relative_to(sent)
    ours = {re.match(r"[\w-]+", each)[0].replace("-", "_") for each in requires("regraft") or []}  # type: ignore[index]
    assert {"kazoo", "scipy", *NEEDED} < ours
    assert ours & set(loaded.split()) == {*NEEDED, "pyspark"}


def test_a_module_that_a_task_misses_is_said_with_its_worker() -> None:
    from pyspark.errors import PySparkException

    from regraft.measure.faults import fault_text

    fault = PySparkException(
        "Job aborted due to stage failure: Task 1 in stage 5.0 failed 4 times, most recent failure: Lost "
        "task 1.3 in stage 5.0 (TID 19) (10.0.0.7 executor 1): org.apache.spark.api.python.PythonException:\n"
        "Traceback (most recent call last):\n"
        '  File "worker.py", line 7, in main\n'
        "ModuleNotFoundError: No module named 'numba'\n"
    )
    assert fault_text(fault) == f"worker 10.0.0.7: Python has no module 'numba': {HINT}"
