"""Nothing that depends on something stored leaves before it is on the disk."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

import pytest
from tests.broker.io.peers import at, broker, finish, raw_peer

from regraft.broker.core import Broker, Close, Effect, Report, Store
from regraft.broker.io.durable import Durable, Outgoing
from regraft.broker.io.journal import Journal
from regraft.client import Unreachable, connect
from regraft.model import BadInput, RegraftError
from regraft.protocol.messages import AnyMessage, Bye, Welcome


class SlowJournal:
    """Each synchronisation waits for a permission."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.durable: list[str] = []
        self.permissions = asyncio.Semaphore(0)

    def append(self, changes: Iterable[tuple[str, bytes | None]]) -> None:
        self.written += [key for key, _ in changes]

    async def sync(self) -> None:
        now = list(self.written)
        await self.permissions.acquire()
        self.durable = now


def out(number: int) -> Outgoing:
    return Outgoing({1: [Bye(str(number))]}, [])


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


def test_what_leaving_causes_waits_for_what_was_stored_meanwhile() -> None:
    """An agent that is told of a change asks for the state at once, which knows of the second change too."""

    async def scenario() -> None:
        journal = SlowJournal()
        told: list[list[str]] = []

        def leave(outgoing: Outgoing) -> None:
            if outgoing.reports:
                durable.pass_on(Outgoing(calls=[lambda: told.append(list(journal.durable))]), [])
            for call in outgoing.calls:
                call()

        durable = Durable(cast(Journal, journal), leave)
        durable.pass_on(Outgoing(reports=[Report("first", "ready")]), [Store("first", b"")])
        durable.pass_on(Outgoing(), [Store("second", b"")])
        journal.permissions.release()
        await until(lambda: "second" in journal.written)
        assert told == []
        journal.permissions.release()
        await until(lambda: bool(told))
        assert told == [["first", "second"]]

    finish(scenario())


def test_what_is_stored_while_something_leaves_takes_nothing_from_what_waits() -> None:
    async def scenario() -> None:
        journal, left = SlowJournal(), []

        def leave(outgoing: Outgoing) -> None:
            left.extend([report.change for report in outgoing.reports])
            if left == ["first"]:
                durable.pass_on(Outgoing(reports=[Report("third", "ready")]), [Store("third", b"")])

        durable = Durable(cast(Journal, journal), leave)
        for name in ("first", "second"):
            durable.pass_on(Outgoing(reports=[Report(name, "ready")]), [Store(name, b"")])
        for _ in range(3):
            journal.permissions.release()
        await durable.finish()
        assert left == journal.durable == ["first", "second", "third"]

    finish(scenario())


def test_what_is_sent_waits_for_what_was_stored_before_it() -> None:
    async def scenario() -> None:
        journal, left = SlowJournal(), []

        def leave(outgoing: Outgoing) -> None:
            left.extend([cast(Bye, each).reason for messages in outgoing.sends.values() for each in messages])

        durable = Durable(cast(Journal, journal), leave)
        durable.pass_on(out(0), [])
        assert left == ["0"]  # nothing stored: at once
        durable.pass_on(out(1), [Store("a", b"")])
        durable.pass_on(out(2), [])
        durable.pass_on(out(3), [Store("b", b"")])
        durable.pass_on(out(4), [])
        await asyncio.sleep(0.05)
        assert (left, journal.written) == (["0"], ["a"])
        journal.permissions.release()
        await until(lambda: len(journal.written) == 2)
        assert left == ["0", "1", "2"]  # what came after b waits for b
        durable.pass_on(out(5), [])
        journal.permissions.release()
        await durable.finish()
        assert left == ["0", "1", "2", "3", "4", "5"]

    finish(scenario())


def test_what_leaves_together_keeps_its_order() -> None:
    first: Outgoing = Outgoing({1: [Bye("a")]}, [])
    first.add(Outgoing({1: [Bye("b")], 2: [Bye("c")]}, [Close(1, "x")]))
    expected: dict[int, list[AnyMessage]] = {1: [Bye("a"), Bye("b")], 2: [Bye("c")]}
    assert first == Outgoing(expected, [Close(1, "x")])


def test_a_broker_whose_disk_fails_gives_up_instead_of_promising(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(self: Journal) -> None:
        raise OSError(28, "No space left on device")

    async def scenario() -> None:
        async with broker(state=tmp_path) as server:
            monkeypatch.setattr(Journal, "sync", full)
            with pytest.raises(Unreachable):
                async with connect(at(server), timeout=0.5):
                    pass
            await server.failed.wait()
            assert "No space left on device" in server.fault

    finish(scenario())


def test_a_broker_whose_core_fails_in_its_pulse_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Broker, now: float) -> list[Effect]:
        raise ZeroDivisionError("planted")

    async def scenario() -> None:
        async with broker() as server:
            monkeypatch.setattr(Broker, "tick", broken)
            await server.failed.wait()
            assert server.fault == "ZeroDivisionError in the core: planted"

    finish(scenario())


@pytest.mark.parametrize("call", ["opened", "received", "closed"])
def test_a_broker_whose_core_fails_on_a_connection_gives_up(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only that connection: the core may be half-way through a change."""

    def broken(self: Broker, *_: object) -> list[Effect]:
        raise ZeroDivisionError("planted")

    async def scenario() -> None:
        async with broker() as server, raw_peer(server) as other:
            where = server.address
            other.hello("other")
            await other.hears(Welcome)
            monkeypatch.setattr(Broker, call, broken)
            async with raw_peer(server) as peer:
                peer.hello()
            await server.failed.wait()
            assert server.fault == "ZeroDivisionError in the core: planted"
            await other.heard()  # ends: all connections are closed
            with pytest.raises(ConnectionError):
                await asyncio.open_connection(*where)

    finish(scenario())


def test_a_change_that_the_core_can_not_make_ends_the_broker_and_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: Broker, change: str) -> list[Effect]:
        raise KeyError(change)

    async def scenario() -> None:
        async with broker() as server:
            with pytest.raises(BadInput):
                server.commit("unknown")
            assert not server.failed.is_set()
            monkeypatch.setattr(Broker, "commit", broken)
            with pytest.raises(KeyError):
                server.commit("c1")
            assert server.fault == "KeyError in the core: 'c1'"
            with pytest.raises(RegraftError, match="has given up: KeyError"):
                server.commit("c2")

    finish(scenario())


def test_a_fault_while_something_durable_leaves_is_told() -> None:
    async def scenario() -> None:
        journal = SlowJournal()
        told: list[Exception] = []

        def leave(outgoing: Outgoing) -> None:
            raise ZeroDivisionError("planted")

        durable = Durable(cast(Journal, journal), leave, told.append)
        journal.permissions.release()
        durable.pass_on(out(1), [Store("a", b"")])
        await durable.finish()
        assert [str(fault) for fault in told] == ["planted"]

    finish(scenario())
