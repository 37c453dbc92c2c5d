"""Turns: a connection that brings much work does not keep the others waiting."""

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import pytest
from tests.broker.io.peers import finish

from regraft.broker.io import intake
from regraft.broker.io.configuration import Allowed
from regraft.broker.io.connection import HIGH_WATER, Connection
from regraft.broker.io.fair_queue import FairQueue, prepare
from regraft.broker.io.intake import COSTLY_AT_ONCE, DIRECT
from regraft.filters import Filter
from regraft.protocol.messages import AnyMessage, Bye, ClientHello, Confirm, Run, Subscribe
from regraft.wire.numbered import Wire


class Recording:
    """A shell that records which connection brought how many messages."""

    def __init__(self) -> None:
        self.turns: list[tuple[int, int]] = []
        self.messages: list[AnyMessage] = []
        self.refuses_after = 10**9
        self.greets = True

    def connected(self, connection: Connection) -> None:
        if self.greets:
            connection.introduced(ClientHello("c", [], []))

    def ahead(self, connection: Connection, message: AnyMessage, filters: list[Filter]) -> Iterator[None]:
        return prepare(message, filters)

    def said(self, connection: Connection, messages: list[AnyMessage]) -> None:
        if isinstance(messages[0], ClientHello):
            connection.introduced(messages[0])
        self.turns.append((connection.number, len(messages)))
        self.messages += messages
        if len(self.turns) >= self.refuses_after:
            connection.refuse("enough")

    def gone(self, connection: Connection) -> None: ...


class Transport:
    """Only remembers whether it is read."""

    def __init__(self) -> None:
        self.reading = True
        self.ended = False

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return False

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def write(self, data: bytes) -> None: ...

    def set_write_buffer_limits(self, high: int) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0


def connections(shell: Recording, count: int) -> list[Connection]:
    queue = FairQueue()
    made = [Connection(shell, number, Allowed(), "", queue) for number in range(count)]
    for each in made:
        each.connection_made(cast(Any, Transport()))
    return made


def confirms(count: int) -> bytes:
    return Wire().frame([Confirm("p#1", [1, 1])] * count)


async def heard(connection: Connection) -> None:
    while connection._intake.busy:
        await asyncio.sleep(0)


def test_others_are_heard_between_the_turns_of_a_long_frame() -> None:
    async def scenario() -> None:
        shell = Recording()
        flooding, other = connections(shell, 2)
        flooding.data_received(confirms(5000))
        assert cast(Any, flooding.transport).reading is False
        other.data_received(confirms(3))
        await heard(flooding)
        assert shell.turns[0] == (1, 3)
        assert sum(count for number, count in shell.turns if number == 0) == 5000
        assert len(shell.turns) > 3
        assert cast(Any, flooding.transport).reading is True

    finish(scenario())


def test_connections_that_bring_much_share_each_round() -> None:
    async def scenario() -> None:
        shell = Recording()
        many = connections(shell, 3)
        for each in many:
            each.data_received(Wire().frame([Subscribe("s", f"a > {n}") for n in range(40)]))
        for each in many:
            await heard(each)
        first = [number for number, _ in shell.turns[:9]]
        assert set(first) == {0, 1, 2}
        assert {count for _, count in shell.turns} == {COSTLY_AT_ONCE}

    finish(scenario())


def test_a_long_run_is_heard_in_parts_when_others_talk() -> None:
    async def scenario() -> None:
        shell = Recording()
        flooding, other = connections(shell, 2)
        other.data_received(Wire().frame([Run("q#1", [1], [b""], 0)]))
        run = Run("p#1", list(range(1, 2001)), [b"event"] * 2000, 7, 3)
        flooding.data_received(Wire().frame([run]))
        await heard(flooding)
        parts = [each for each in shell.messages if isinstance(each, Run) and each.publisher == "p#1"]
        assert len(parts) > 2000 // intake.LONGEST_TURN
        assert [seq for part in parts for seq in part.seqs] == run.seqs
        assert {(part.at, part.visit, len(part.seqs) == len(part.events)) for part in parts} == {(7, 3, True)}
        assert len(parts[0].seqs) <= DIRECT

    finish(scenario())


def test_a_connection_that_talks_alone_is_heard_at_once() -> None:
    async def scenario() -> None:
        shell = Recording()
        (alone,) = connections(shell, 1)
        run = Run("p#1", list(range(1, 2001)), [b"event"] * 2000, 0)
        alone.data_received(Wire().frame([run]))
        assert shell.turns == [(0, 1)]

    finish(scenario())


def test_turns_that_take_long_become_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        shell = Recording()
        (flooding,) = connections(shell, 1)
        monkeypatch.setattr(intake, "TURN_SECONDS", 0.0)
        flooding.data_received(confirms(100))
        await heard(flooding)
        assert {count for _, count in shell.turns[1:]} == {1}

    finish(scenario())


def test_what_comes_behind_a_long_frame_stays_behind_it() -> None:
    async def scenario() -> None:
        shell = Recording()
        (flooding,) = connections(shell, 1)
        wire = Wire()
        flooding.data_received(wire.frame([Confirm("p#1", [1, 1])] * 500) + wire.frame([Bye()]))
        await heard(flooding)
        assert sum(count for _, count in shell.turns) == 501

    finish(scenario())


def test_a_peer_refused_in_between_is_heard_no_more_but_its_end_is_seen() -> None:
    async def scenario() -> None:
        shell = Recording()
        shell.refuses_after = 2
        (flooding,) = connections(shell, 1)
        flooding.data_received(confirms(5000))
        await heard(flooding)
        assert len(shell.turns) == 2
        transport = cast(Any, flooding.transport)
        assert (transport.ended, transport.reading) == (True, True)

    finish(scenario())


class Lost(Transport):
    """A connection that was lost a moment ago; its protocol has not been told yet."""

    def __init__(self) -> None:
        super().__init__()
        self.aborted = False

    def write(self, data: bytes) -> None:
        raise RuntimeError("Cannot call write() after write_eof()")

    def abort(self) -> None:
        self.aborted = True


def test_writing_to_a_connection_that_was_lost_a_moment_ago_is_no_fault() -> None:
    async def scenario() -> None:
        shell = Recording()
        connection = Connection(shell, 1, Allowed())
        transport = Lost()
        connection.connection_made(cast(Any, transport))
        connection.send([Bye()])
        assert transport.aborted

    finish(scenario())


class Slow(Transport):
    """Takes everything and sends nothing; `pause_writing` is not called when it is full."""

    def __init__(self) -> None:
        super().__init__()
        self.buffered = 0

    def write(self, data: bytes) -> None:
        self.buffered += len(data)

    def get_write_buffer_size(self) -> int:
        return self.buffered


def test_what_a_peer_does_not_read_waits_unencoded_and_leaves_in_order_when_it_does() -> None:
    async def scenario() -> None:
        shell = Recording()
        connection = Connection(shell, 1, Allowed())
        transport = Slow()
        connection.connection_made(cast(Any, transport))
        for seq in range(1, 41):
            connection.send([Run("p#1", [seq], [bytes(2**18)], 0)])
        assert transport.buffered <= HIGH_WATER + 2**19
        sent = transport.buffered
        while connection._waiting:
            transport.buffered = 0
            await asyncio.sleep(0.02)
            sent += transport.buffered
        assert sent >= 40 * 2**18

    finish(scenario())


def test_what_follows_a_hello_with_filters_is_heard_behind_it() -> None:
    async def scenario() -> None:
        shell = Recording()
        shell.greets = False
        (connection,) = connections(shell, 1)
        wire = Wire()
        hello = ClientHello("c", [], [("s", "a > 1")])
        connection.data_received(wire.frame([hello]) + wire.frame([Confirm("p#1", [1, 1])]))
        assert not shell.messages
        await heard(connection)
        assert [type(each) for each in shell.messages] == [ClientHello, Confirm]

    finish(scenario())


def test_filters_of_one_do_not_keep_the_runs_of_another_waiting() -> None:
    async def scenario() -> None:
        shell = Recording()
        *many, other = connections(shell, 20)
        for each in many:
            each.data_received(Wire().frame([Subscribe("s", f"long > {n}") for n in range(40)]))
        other.data_received(Wire().frame([Run("p#1", list(range(1, 500)), [b""] * 499, 0)]))
        await heard(other)
        assert any(each._intake.busy for each in many)
        assert sum(number != 19 for number, _ in shell.turns) < 19 * 10

    finish(scenario())


def test_no_work_is_done_for_a_peer_that_has_gone() -> None:
    async def scenario() -> None:
        shell = Recording()
        (gone,) = connections(shell, 1)
        gone.data_received(Wire().frame([Subscribe("s", f"gone > {n}") for n in range(400)]))
        await asyncio.sleep(0)
        gone.connection_lost(None)
        before = len(shell.turns)
        await heard(gone)
        assert len(shell.turns) == before

    finish(scenario())
