"""Terminal sessions that a page shows: read from it, run in a folder, and compared with what is shown.

In a fenced block, a line `$ COMMAND` is typed, and what follows is what it says. A block after
`<!-- file: NAME -->` is a file. Commands that run until they are stopped (`up`, `sub`) are left running until
the page ends, as in terminals of their own.

How output is compared: line by line; `…` alone stands for any lines, within a line for any text. Spaces and
the rules of tables do not count. What differs from run to run is compared by its form: times, ports,
processes, the numbers of runs, how many events a canary sent, and which of several equal plans was found (but
not how many actions it has). Where nothing is shown, the command must succeed.
"""

import itertools
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from regraft.cli.entry import main
from regraft.client.addresses import read_directory

BLOCK = re.compile(r"(?:<!-- file: (\S+) -->\n+)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUNS_ON = ("up", "sub", "serve", "broker")
WAIT_SECONDS = 60.0
VARYING = [
    r"\d[\d,.]* m?s\b",  # 0.74 s, 148.3 ms
    r"127\.0\.0\.1:\d+(?: \d+)?",  # in the table of `up`, the process follows
    r"\b\d+-[0-9a-f]{8}\b",  # a run
    r"canaries: \d+",
    r"\d+ delivered",
]
"""What differs from run to run, by its form."""
RULE = re.compile(r"[┏┳━┓┡╇┩├┼┤└┴┘─ ]+")
ACTION = "│ shift │"
ANY_LINES = r"(?:.*\n)*?"
PLAN_SECONDS = "60"
"""Planners stop when they have a proof; on a busy machine that may take longer than their usual limit."""


class Typed(NamedTuple):
    command: str
    shown: list[str]


def files(page: str) -> dict[str, str]:
    """What the reader is asked to save, and what is shown by `cat`."""
    saved = {name: text for name, _, text in BLOCK.findall(page) if name}
    shown = {
        each.command.removeprefix("cat "): each.shown
        for each in typed(page)
        if each.command.startswith("cat ")
    }
    return saved | {name: "\n".join(lines) + "\n" for name, lines in shown.items()}


def typed(page: str) -> Iterator[Typed]:
    """In the order of the page."""
    for _, _, text in BLOCK.findall(page):
        lines = text.splitlines()
        starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
        for start, end in itertools.pairwise([*starts, len(lines)]):
            yield Typed(
                lines[start].removeprefix("$ "), [line for line in lines[start + 1 : end] if line.strip()]
            )


def plain(line: str) -> str:
    """Widths of columns follow their content; any action is as good as another."""
    return ACTION if "shift(" in line else " ".join(line.split())


def plain_lines(text: str) -> list[str]:
    return [plain(line) for line in text.splitlines() if line.strip() and not RULE.fullmatch(line)]


def pattern(line: str) -> str:
    """The shown line as a regular expression."""
    found, at, line = "", 0, plain(line)
    for varying in re.finditer("|".join(f"({form})" for form in VARYING), line):
        assert varying.lastindex is not None
        found += re.escape(line[at : varying.start()]) + VARYING[varying.lastindex - 1]
        at = varying.end()
    return (found + re.escape(line[at:])).replace("…", ".*")


def differences(shown: list[str], said: str) -> str:
    """Empty if `said` is what is shown, else the first line that was not found, and what was said."""
    text = "".join(f"{line}\n" for line in plain_lines(said))
    wanted = [ANY_LINES if line == "…" else f"{pattern(line)}\n" for line in plain_lines("\n".join(shown))]
    if re.fullmatch("".join(wanted), text):
        return ""
    good = next(count for count in range(len(wanted), -1, -1) if re.match("".join(wanted[:count]), text))
    return f"{'shown: ' + wanted[good] if good < len(wanted) else 'more than is shown'}\nsaid:\n{said}"


@contextmanager
def running(command: str, folder: Path, first: str) -> Iterator[Path]:
    """Left running; goes on when it has said its first line. The file holds what it says."""
    said = folder / f"said-{len(list(folder.glob('said-*')))}"
    program = [sys.executable, "-u", "-c", "from regraft.cli.entry import main; main(prog_name='regraft')"]
    with said.open("w") as out:
        process = subprocess.Popen([*program, *shlex.split(command)[1:]], cwd=folder, stdout=out, stderr=out)
    try:
        until = time.monotonic() + WAIT_SECONDS
        while not any(re.fullmatch(pattern(first), plain(line)) for line in said.read_text().splitlines()):
            assert process.poll() is None, said.read_text()
            assert time.monotonic() < until, said.read_text()
            time.sleep(0.05)
        yield said
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def run(each: Typed, folder: Path) -> str:
    """What it says; of a command that fails, why."""
    words = shlex.split(each.command)
    if words[0] != "regraft":
        done = subprocess.run(
            ["bash", "-c", each.command], cwd=folder, capture_output=True, text=True, check=True
        )
        return done.stdout
    if words[1] == "plan" and "--pareto" not in words:
        words += ["--time-limit", PLAN_SECONDS]
    before = Path.cwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(main, words[1:])
    finally:
        os.chdir(before)
    if result.exit_code != 0 and not any(line.startswith("regraft: ") for line in each.shown):
        return f"exit code {result.exit_code}\n{result.output}"
    return result.stdout if result.exit_code == 0 else result.stderr


def python(page: str) -> list[str]:
    return [text for _, language, text in BLOCK.findall(page) if language == "python"]


def run_python(code: str, page: str, folder: Path) -> str:
    """A program against the brokers that run: the addresses that the page shows become those of now."""
    now = read_directory(folder / "out" / "overlay.json")
    for broker, address in re.findall(r"^(\w+) +(127\.0\.0\.1:\d+) +\d+ ", page, re.MULTILINE):
        code = code.replace(address, "{}:{}".format(*now[broker]))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    return "" if done.returncode == 0 and done.stdout else f"the program said: {done.stdout}{done.stderr}"


def play(page: str, folder: Path) -> list[str]:
    """Do all that the page shows, in its order; what came out differently."""
    wrong: list[str] = []
    left: list[tuple[Typed, Path]] = []
    with ExitStack() as terminals:
        for each in typed(page):
            words = shlex.split(each.command)
            if words[0] == "regraft" and words[1] in RUNS_ON:
                left.append((each, terminals.enter_context(running(each.command, folder, each.shown[0]))))
            elif difference := differences(each.shown or ["…"], run(each, folder)):
                wrong.append(f"$ {each.command}\n{difference}")
        texts = [(each, said.read_text()) for each, said in left]
        wrong += [fault for code in python(page) if (fault := run_python(code, page, folder))]
    for each, text in texts:
        if difference := differences(each.shown, text):
            wrong.append(f"$ {each.command}\n{difference}")
    return wrong
