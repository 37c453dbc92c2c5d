"""Temporary folders: removed at the end, and those of killed owners by the next."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from regraft.coord.temporary import OWNER, TemporaryFolder

MAKES_AND_WAITS = """
import time
from regraft.coord.temporary import TemporaryFolder
folder = TemporaryFolder("test")
print(folder.path, flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_the_folder_of_a_killed_owner_is_removed_by_the_next(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", MAKES_AND_WAITS], stdout=subprocess.PIPE, text=True)
    try:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        (folder / "data").mkdir()
        with TemporaryFolder("test"):
            assert folder.exists()
    finally:
        owner.kill()
        owner.communicate()
    with TemporaryFolder("test") as mine:
        assert [*tmp_path.iterdir()] == [mine]
    assert [*tmp_path.iterdir()] == []


def test_a_folder_that_is_not_locked_yet_and_those_of_others_stay(tmp_path: Path) -> None:
    (tmp_path / "regraft-test-1").mkdir()
    (tmp_path / "regraft-test-2").mkdir()
    (tmp_path / "regraft-test-2" / OWNER).touch()
    (tmp_path / "regraft-other-3").mkdir()
    (tmp_path / "regraft-other-3" / OWNER).write_text("1")
    TemporaryFolder("test").remove()
    assert len([*tmp_path.iterdir()]) == 3
