"""Tests run against mutants in forks of one interpreter that has loaded and collected everything before.

A first run of all tests, without any mistake, says how long each takes and which functions it calls. A
mistake is tried by the tests that call its function, the quickest first, until one fails: in a fork in which
that function has other code. So a mutant costs the time of its tests, and not that of starting Python.

What is run only while modules are loaded, or only in processes that a test starts, runs without the mistake.
"""

import ast
import gc
import os
import pickle
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import NamedTuple

import pytest

OPTIONS = ("-qq", "-s", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-seed", "0")
SLACK_SECONDS = 5.0
MEMORY_BYTES = 4 * 2**30

LIVES, FOUND, FAULT = range(3)
"""How a fork ends. One that a signal ends has found the mistake: it took too long."""


class Function(NamedTuple):
    """A function as it is known to both the profile and the compiler."""

    file: str
    name: str
    line: int

    @classmethod
    def of(cls, code: CodeType) -> "Function":
        return cls(code.co_filename, code.co_qualname, code.co_firstlineno)


class Measured(NamedTuple):
    """A test in the run without a mistake."""

    number: int
    seconds: float
    calls: frozenset[Function]


class Warm:
    """A plugin of pytest: instead of running the tests, it gives itself to `work`, which runs them."""

    def __init__(self, work: Callable[["Warm"], None]) -> None:
        self._work = work
        self._measured: list[Measured] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise pytest.UsageError("some tests cannot be collected")
        self._session = session
        self._work(self)
        return True

    def measure(self) -> None:
        """Run all tests once, without a mistake."""
        reading, writing = os.pipe()
        child = _forked(lambda: self._measure(writing))
        os.close(writing)
        with open(reading, "rb") as pipe:
            said = pipe.read()
        if _ended(child) != LIVES:
            raise pytest.UsageError("the tests fail without any mistake")
        self._measured = sorted(pickle.loads(said), key=lambda each: each.seconds)

    def _measure(self, pipe: int) -> int:
        measured = []
        for number, item in enumerate(self._session.items):
            began = time.process_time()
            with _calls() as calls:
                self._run(item, None)
            seconds = time.process_time() - began
            measured.append(Measured(number, seconds, frozenset(map(Function.of, calls))))
        with open(pipe, "wb") as file:
            pickle.dump(measured, file)
        return FOUND if self._session.testsfailed else LIVES

    def begin(self, file: Path, mutant: ast.Module, tests: Sequence[str]) -> int:
        """Begin to run the tests, those whose names begin so, against a mutant of the file: the process."""
        pairs = exchanged(file, mutant)
        functions = {Function.of(old) for old, _ in pairs}
        chosen = [
            each
            for each in self._measured
            if each.calls & functions and self._session.items[each.number].nodeid.startswith(tuple(tests))
        ]

        def run() -> int:
            gc.unfreeze()  # what is frozen is not listed
            exchange(pairs)
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
            items = [self._session.items[each.number] for each in chosen]
            for at, each in enumerate(chosen):
                _limit(3 * each.seconds + SLACK_SECONDS)
                self._run(items[at], items[at + 1] if at + 1 < len(items) else None)
                if self._session.testsfailed:
                    return FOUND
            return LIVES

        return _forked(run)

    def _run(self, item: pytest.Item, after: pytest.Item | None) -> None:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)


def lived(process: int) -> bool:
    """Wait for a process that `begin` began: whether no test has found the mistake."""
    status = _ended(process)
    if status == FAULT:
        raise RuntimeError("the run of a mutant has failed, not its tests")
    return status == LIVES


@contextmanager
def _calls() -> Iterator[set[CodeType]]:
    """The functions that are called meanwhile."""
    found: set[CodeType] = set()

    def called(frame: FrameType, event: str, arg: object) -> None:
        found.add(frame.f_code)

    sys.settrace(called)
    try:
        yield found
    finally:
        sys.settrace(None)


def _limit(seconds: float) -> None:
    """End this process if it works for longer than that, or waits for very long."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 20 * seconds)


def _forked(work: Callable[[], int]) -> int:
    child = os.fork()
    if child:
        return child
    status = FAULT
    try:
        errors = os.dup(2)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        status = work()
    except BaseException as error:
        os.write(errors, f"{error!r}\n".encode())
    finally:
        os._exit(status)


def _ended(child: int) -> int:
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return FOUND if status < 0 else status


# Exchanging code


def exchanged(file: Path, mutant: ast.Module) -> list[tuple[CodeType, CodeType]]:
    """The code of each function that differs (of one inside another, the outer), and its new code."""
    original = compile(file.read_text(), str(file), "exec")
    pairs = zip(_functions(original), _functions(compile(mutant, str(file), "exec")), strict=True)
    return [(old, new) for old, new in pairs if old != new]


def _functions(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            # The body of a class, which is no function, may hold more.
            yield from [each] if each.co_flags & _OPTIMIZED else _functions(each)


_OPTIMIZED = 0x1
"""Of `co_flags`: the code is that of a function, with local variables."""


def exchange(pairs: list[tuple[CodeType, CodeType]]) -> None:
    """Wherever the functions are kept: in modules, classes, tables, decorators."""
    codes = {Function.of(old): new for old, new in pairs}
    for each in gc.get_objects():
        if type(each) is FunctionType and (code := codes.get(Function.of(each.__code__))):
            each.__code__ = code
