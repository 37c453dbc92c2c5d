"""What a person sees while a planner works."""

import sys

import pytest

from regraft.cli.watching import describe, planner_is_running, run_watched
from regraft.plan.watch import Progress, Watch


def test_progress_is_told_in_words() -> None:
    assert describe(Progress(12, 40, 9, 36)) == "12 steps (at least 9), 40 actions (at least 36)"
    assert describe(Progress(None, None, 9, 36, "T = 9")) == "at least 9 steps, at least 36 actions, T = 9"


def test_the_result_comes_back_with_its_time() -> None:
    watched = run_watched(lambda watch: watch.seconds, 5.0)
    assert (watched.result, watched.interrupted) == (5.0, False)
    assert watched.seconds >= 0
    assert not planner_is_running()


def test_a_fault_in_the_work_comes_through() -> None:
    def work(watch: Watch) -> None:
        raise LookupError("here")

    with pytest.raises(LookupError, match="here"):
        run_watched(work, 1.0)


def test_a_terminal_shows_progress_and_clears_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")

    def work(watch: Watch) -> str:
        watch.tell(Progress(3, 7, 2, 6))
        return "done"

    assert run_watched(work, 1.0).result == "done"
    assert run_watched(work, 1.0, quiet=True).result == "done"
    assert capsys.readouterr().out == "", "standard output is for the answer"
