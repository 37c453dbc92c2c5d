import sys
import tempfile
from pathlib import Path

from regraft.lab.limited_process import peak_mb, run_limited


def ended(code: str, seconds: float, memory_mb: float) -> tuple[str | None, float | None, str]:
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        why, peak, _ = run_limited([sys.executable, "-c", code], output, errors, seconds, memory_mb)
        output.seek(0)
        return why, peak, output.read()


def test_a_process_within_its_limits_runs_to_its_end() -> None:
    why, _, output = ended("print('done')", 60.0, 4000.0)
    assert (why, output) == (None, "done\n")


def test_a_process_that_takes_too_much_memory_is_ended() -> None:
    why, peak, _ = ended("import time; held = b'x' * 400_000_000; time.sleep(60)", 60.0, 200.0)
    assert why == "out of memory"
    assert peak is not None
    assert peak > 200


def test_what_a_process_started_ends_with_it(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    child = (
        f"import os, time, pathlib; pathlib.Path({str(mark)!r}).write_text(str(os.getpid())); time.sleep(600)"
    )
    code = f"""
import pathlib, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", {child!r}])
while not pathlib.Path({str(mark)!r}).exists():
    time.sleep(0.01)
time.sleep(600)
"""
    why, _, _ = ended(code, 5.0, 4000.0)
    assert why == "out of time"
    pid = int(mark.read_text())
    while is_running(pid):
        pass


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_the_peak_of_memory_counts_what_was_freed_again() -> None:
    before = peak_mb()
    held = b"x" * 300_000_000
    del held
    after = peak_mb()
    assert before is not None
    assert after is not None
    assert after >= before
    assert after > 300


def test_a_process_that_is_gone_has_no_peak() -> None:
    assert not Path("/proc/999999999").exists()
    assert peak_mb(999999999) is None
