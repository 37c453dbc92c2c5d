"""The demo as a user meets it: a small one from beginning to end, an interruption, a wrong place."""

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.cli.running import PROGRAM

pytestmark = pytest.mark.xdist_group("demo")


def processes(folder: Path) -> list[str]:
    """The processes whose folder for temporary files is this one."""
    mark = f"TMPDIR={folder}".encode()
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (each / "environ").read_bytes().split(b"\0"):
                found.append(each.name)
    return found


def assert_all_end(folder: Path) -> None:
    """Those that the demo has told to end may need longer than it does itself: a Spark that was just being
    started has a low priority, and on a busy machine it hears late that nobody needs it."""
    deadline = time.monotonic() + 300
    while processes(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not processes(folder)


def environment(folder: Path) -> dict[str, Any]:
    return os.environ | {"TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"}


def test_a_small_demo_changes_the_topology_heals_a_crash_and_loses_nothing(tmp_path: Path) -> None:
    command = [*PROGRAM, "demo", "--small", "--window", "4", "--rate", "15", "--json"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    story = json.loads(done.stdout)
    counts = story["counts"]
    assert counts["published"] > 0
    assert counts["delivered"] == counts["due"] > counts["published"]
    assert [counts[name] for name in ("lost", "duplicated", "reordered", "unwanted", "unacknowledged")] == [
        0
    ] * 5
    assert story["change"]["actions"] >= 1
    assert story["change"]["costs"][-1] < story["change"]["costs"][0]
    assert sorted(map(tuple, story["after"])) != sorted(map(tuple, story["before"]))
    canaries = story["change"]["canaries"]
    assert canaries.pop("delivered") > canaries.pop("published") > 0
    assert canaries == {"lost": 0, "duplicated": 0, "reordered": 0}
    victim = story["healing"]["victim"]
    assert victim not in {end for link in story["healed"] for end in link}
    assert story["healing"]["by"]
    assert (tmp_path / "out/demo/report.html").stat().st_size > 50_000
    assert not list(tmp_path.glob("regraft-*"))
    assert_all_end(tmp_path)


def test_the_demo_leaves_nothing_behind_when_interrupted(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*PROGRAM, "demo", "--small"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert any("brokers run" in line for line in process.stdout)
        assert processes(tmp_path)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=300)
    assert process.returncode == 130
    assert said.strip().splitlines()[-1] == "regraft: interrupted"
    assert_all_end(tmp_path)
    assert not list(tmp_path.glob("regraft-*"))


def test_a_folder_that_can_not_be_made_is_bad_input(regraft: Run, folder: Path) -> None:
    result = regraft("demo", "--out", "now.json/here")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "cannot be made into a folder" in result.stderr
