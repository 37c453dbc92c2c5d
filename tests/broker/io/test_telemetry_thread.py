"""One thread writes for many spools, lives while it is needed, and writes all of a spool before it goes."""

import threading

from regraft.broker.io.telemetry_thread import TelemetryThread


class Spooled:
    def __init__(self) -> None:
        self.calls: list[tuple[str, bool]] = []
        self.written = threading.Event()

    def write_waiting(self, last: bool) -> None:
        self.calls.append((threading.current_thread().name, last))
        self.written.set()


def telemetry_threads() -> int:
    return sum(thread.name == "telemetry" for thread in threading.enumerate())


def test_one_thread_serves_all_and_ends_with_the_last() -> None:
    before = telemetry_threads()
    writing, spools = TelemetryThread(), [Spooled() for _ in range(50)]
    for spool in spools:
        writing.add(spool)
    assert telemetry_threads() == before + 1
    for spool in spools:
        assert spool.written.wait(20)
        writing.remove(spool)
    for spool in spools:
        assert {name for name, _ in spool.calls} == {"telemetry"}
        assert [last for _, last in spool.calls] == [False] * (len(spool.calls) - 1) + [True]
    for thread in threading.enumerate():
        if thread is writing._thread:
            thread.join(20)
    assert telemetry_threads() == before


def test_a_spool_added_after_the_thread_has_ended_gets_another() -> None:
    writing = TelemetryThread()
    for _ in range(3):
        spool = Spooled()
        writing.add(spool)
        writing.remove(spool)
        assert spool.calls[-1] == ("telemetry", True)


def test_removing_twice_or_without_adding_does_not_wait() -> None:
    writing, spool = TelemetryThread(), Spooled()
    writing.remove(spool)
    writing.add(spool)
    writing.remove(spool)
    writing.remove(spool)
    assert [last for _, last in spool.calls].count(True) == 1
