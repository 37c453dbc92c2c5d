"""One thread writes for many, lives while it is needed, and lets nobody go before the last turn."""

import threading

from regraft.broker.io.scribe import Scribe


class Diary:
    def __init__(self) -> None:
        self.turns: list[tuple[str, bool]] = []
        self.written = threading.Event()

    def turn(self, last: bool) -> None:
        self.turns.append((threading.current_thread().name, last))
        self.written.set()


def telemetry_threads() -> int:
    return sum(thread.name == "telemetry" for thread in threading.enumerate())


def test_one_thread_serves_all_and_ends_with_the_last() -> None:
    before = telemetry_threads()
    scribe, diaries = Scribe(), [Diary() for _ in range(50)]
    for diary in diaries:
        scribe.serve(diary)
    assert telemetry_threads() == before + 1
    for diary in diaries:
        assert diary.written.wait(20)
        scribe.leave(diary)
    for diary in diaries:
        assert {name for name, _ in diary.turns} == {"telemetry"}
        assert [last for _, last in diary.turns] == [False] * (len(diary.turns) - 1) + [True]
    for thread in threading.enumerate():
        if thread is scribe._thread:
            thread.join(20)
    assert telemetry_threads() == before


def test_who_comes_after_the_thread_has_ended_gets_another() -> None:
    scribe = Scribe()
    for _ in range(3):
        diary = Diary()
        scribe.serve(diary)
        scribe.leave(diary)
        assert diary.turns[-1] == ("telemetry", True)


def test_leaving_twice_or_without_having_come_waits_for_nobody() -> None:
    scribe, diary = Scribe(), Diary()
    scribe.leave(diary)
    scribe.serve(diary)
    scribe.leave(diary)
    scribe.leave(diary)
    assert [last for _, last in diary.turns].count(True) == 1
