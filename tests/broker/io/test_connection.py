"""Turns: a connection that brings much work does not keep the others waiting."""

import asyncio
from typing import Any, cast

import pytest
from tests.broker.io.peers import finish

from regraft.broker.io import connection as connection_module
from regraft.broker.io.configuration import Allowed
from regraft.broker.io.connection import FEW, LONGEST_TURN, Connection
from regraft.protocol.messages import AnyMessage, Bye, ClientHello, Confirm, Subscribe
from regraft.protocol.wire import Wire


class Recording:
    """A shell that writes down who said how many messages."""

    def __init__(self) -> None:
        self.turns: list[tuple[int, int]] = []
        self.refuses_after = 10**9

    def connected(self, connection: Connection) -> None:
        connection.introduced(ClientHello("c", [], []))

    def said(self, connection: Connection, messages: list[AnyMessage]) -> None:
        self.turns.append((connection.number, len(messages)))
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


def connections(shell: Recording, count: int) -> list[Connection]:
    made = [Connection(shell, number, Allowed()) for number in range(count)]
    for each in made:
        each.connection_made(cast(Any, Transport()))
    return made


def confirms(count: int) -> bytes:
    return Wire().frame([Confirm("p#1", [1, 1])] * count)


async def heard(connection: Connection) -> None:
    while connection._unheard:
        await asyncio.sleep(0)


def test_others_are_heard_between_the_turns_of_a_long_frame() -> None:
    async def scenario() -> None:
        shell = Recording()
        flooding, other = connections(shell, 2)
        flooding.data_received(confirms(5000))
        assert cast(Any, flooding.transport).reading is False
        other.data_received(confirms(3))
        await heard(flooding)
        assert shell.turns[1] == (1, 3)
        assert sum(count for number, count in shell.turns if number == 0) == 5000
        assert max(count for _, count in shell.turns) == LONGEST_TURN
        assert cast(Any, flooding.transport).reading is True

    finish(scenario())


def test_filters_are_more_work_and_get_shorter_turns() -> None:
    async def scenario() -> None:
        shell = Recording()
        (flooding,) = connections(shell, 1)
        flooding.data_received(Wire().frame([Subscribe("s", "TRUE")] * 1000))
        await heard(flooding)
        assert max(count for _, count in shell.turns) == LONGEST_TURN // FEW

    finish(scenario())


def test_turns_that_take_long_become_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        shell = Recording()
        (flooding,) = connections(shell, 1)
        monkeypatch.setattr(connection_module, "TURN_SECONDS", 0.0)
        flooding.data_received(confirms(100))
        await heard(flooding)
        assert [count for _, count in shell.turns[1:]] == [1] * 36

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


def test_who_is_refused_in_between_is_heard_no_more_but_its_end_is_seen() -> None:
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
