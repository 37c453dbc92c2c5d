"""Programs that are not ours run under a guard, and end with us."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from regraft.processes.programs import end_programs, kill_program, start_program

STARTS_AND_WAITS = """
import sys, time
from regraft.processes.programs import start_program
with open(sys.argv[1], "wb") as log:
    print(start_program(["/bin/sh", "-c", "sleep 600 & sleep 600"], log).pid, flush=True)
time.sleep(600)
"""
STUBBORN = "trap '' TERM; echo ready; while true; do sleep 0.05; done"


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def group_is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def started(tmp_path: Path, code: str) -> "subprocess.Popen[bytes]":
    with (tmp_path / "log").open("wb") as log:
        process = start_program(["/bin/sh", "-c", code], log)
    until(lambda: "ready" in (tmp_path / "log").read_text())
    return process


def test_a_program_and_what_it_started_end_when_we_are_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTS_AND_WAITS, str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        group = int(parent.stdout.readline())
        assert not group_is_gone(group)
        parent.kill()
    until(lambda: group_is_gone(group))


def test_a_program_has_its_own_exit_code_arguments_and_an_empty_input(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log, (tmp_path / "errors").open("wb") as errors:
        code = "import sys; print(sys.argv[1:], repr(sys.stdin.read())); sys.exit('no')"
        process = start_program([sys.executable, "-c", code, "a b", "$$"], log, errors)
        assert process.wait() == 1
    assert (tmp_path / "log").read_text() == "['a b', '$$'] ''\n"
    assert (tmp_path / "errors").read_text() == "no\n"
    kill_program(process)


def test_nothing_is_left_of_a_program_that_ended_by_itself(tmp_path: Path) -> None:
    process = started(tmp_path, "echo ready; exit 3")
    assert process.wait() == 3
    kill_program(process)
    until(lambda: group_is_gone(process.pid))
    kill_program(process)


def test_a_program_is_killed_with_what_it_started(tmp_path: Path) -> None:
    process = started(tmp_path, "sleep 600 & echo ready; wait")
    kill_program(process)
    assert process.returncode == -signal.SIGKILL
    until(lambda: group_is_gone(process.pid))


def test_programs_are_asked_to_end_and_killed_if_they_do_not(tmp_path: Path) -> None:
    (tmp_path / "polite").mkdir()
    polite = started(tmp_path / "polite", "trap 'exit 7' TERM; echo ready; while true; do sleep 0.05; done")
    stubborn = started(tmp_path, STUBBORN)
    end_programs([polite, stubborn], seconds=0.5)
    assert (polite.returncode, stubborn.returncode) == (7, -signal.SIGKILL)
    until(lambda: group_is_gone(polite.pid) and group_is_gone(stubborn.pid))
