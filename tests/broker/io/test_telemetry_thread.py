"""One thread writes for many brokers, lives while it is needed, and writes all of a broker before it goes."""

import threading

from regraft.broker.io.telemetry_thread import TelemetryThread


class Writer:
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
    writing, writers = TelemetryThread(), [Writer() for _ in range(50)]
    for writer in writers:
        writing.add(writer)
    assert telemetry_threads() == before + 1
    for writer in writers:
        assert writer.written.wait(20)
        writing.remove(writer)
    for writer in writers:
        assert {name for name, _ in writer.calls} == {"telemetry"}
        assert [last for _, last in writer.calls] == [False] * (len(writer.calls) - 1) + [True]
    for thread in threading.enumerate():
        if thread is writing._thread:
            thread.join(20)
    assert telemetry_threads() == before


def test_a_writer_that_is_added_after_the_thread_has_ended_gets_another() -> None:
    writing = TelemetryThread()
    for _ in range(3):
        writer = Writer()
        writing.add(writer)
        writing.remove(writer)
        assert writer.calls[-1] == ("telemetry", True)


def test_removing_twice_or_without_adding_does_not_wait() -> None:
    writing, writer = TelemetryThread(), Writer()
    writing.remove(writer)
    writing.add(writer)
    writing.remove(writer)
    writing.remove(writer)
    assert [last for _, last in writer.calls].count(True) == 1
