"""What both parts of the loop's benchmark need: commands of ours as processes, a configuration, waiting."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = [sys.executable, "-c", "from regraft.cli import main; main()"]
TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def process(
    folder: Path, *command: str, errors: Any = subprocess.DEVNULL
) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
    ) as started:
        try:
            yield started
        finally:
            if started.poll() is None:
                started.send_signal(signal.SIGTERM)
                try:
                    started.wait(60)
                except subprocess.TimeoutExpired:
                    started.kill()


def configured(folder: Path, settings: Mapping[str, Mapping[str, Any]]) -> None:
    """regraft.toml with these keys of its sections; all others have their defaults."""
    lines = []
    for section, keys in settings.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    (folder / "regraft.toml").write_text("\n".join(lines) + "\n")


def processor_seconds(pid: int) -> float:
    """Of a process and all that it has started."""
    parents: dict[int, list[tuple[int, float]]] = {}
    own = 0.0
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            used = (int(fields[11]) + int(fields[12])) / TICKS
            parents.setdefault(int(fields[1]), []).append((int(entry.name), used))
            if int(entry.name) == pid:
                own = used
    waiting, total = [pid], own
    while waiting:
        for child, used in parents.get(waiting.pop(), []):
            total += used
            waiting.append(child)
    return total


def wait_for(path: Path, word: str, seconds: float = 300.0) -> None:
    """Until the word has been logged; otherwise the log says why not."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if word in path.read_text():
            return
        time.sleep(0.2)
    raise SystemExit(
        f"nothing was {word} within {seconds:g} s:\n" + "\n".join(path.read_text().splitlines()[-20:])
    )
