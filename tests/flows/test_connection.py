"""Switches that misbehave: every one of them ends in one line that names it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest
from tests.flows.route_maker import tree_routes

from regraft.flows import (
    AddressBlock,
    FlowRules,
    Patience,
    RuleRefused,
    SwitchFault,
    SwitchUnreachable,
    change,
    install,
    render,
)
from regraft.flows.installing import carry_out
from regraft.flows.openflow.wire import HEADER, write_message
from regraft.flows.rules import Barrier
from regraft.model import BadInput
from regraft.model.routes import Publisher, RouteWorkload, Subscriber
from regraft.model.switch_network import SwitchNetwork

HASTY = Patience(connect=0.3, answer=0.3, attempts=2, pause=0.01, drain=0.0)
Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
FEATURES = write_message(6, 0, bytes(24))
FLOW_MOD, MULTIPART, BARRIER = 14, 18, 20


def rules() -> FlowRules:
    network = SwitchNetwork.of([("a", "b")])
    hosts = RouteWorkload((Publisher("p", "a", 1.0, ("0",)),), (Subscriber("q", "b", ("0",)),))
    return render(tree_routes(network, hosts, "filter", Random(1)), AddressBlock.of())


class FakeSwitch:
    """Greets and confirms; counts connections; what it does with the others is up to the test."""

    def __init__(self) -> None:
        self.connections = 0
        self.received: list[int] = []

    async def serve(self, reader: Reader, writer: Writer) -> None:
        self.connections += 1
        writer.write(write_message(0, 0) + FEATURES)
        try:
            while True:
                header = await reader.readexactly(HEADER.size)
                _, kind, length, xid = HEADER.unpack(header)
                body = await reader.readexactly(length - HEADER.size)
                self.received.append(kind)
                writer.write(self.answer(kind, xid, body))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()

    def answer(self, kind: int, xid: int, _body: bytes) -> bytes:
        if kind == BARRIER:
            return write_message(BARRIER + 1, xid)
        if kind == MULTIPART:
            return write_message(
                MULTIPART + 1, xid, b"\0\2" + bytes(6) + bytes(16) + (5).to_bytes(4) + bytes(4)
            )
        return b""


@asynccontextmanager
async def listening(
    directory: Path, serve: Callable[[Reader, Writer], Awaitable[None]], name: str
) -> AsyncIterator[str]:
    path = directory / name
    server = await asyncio.start_unix_server(serve, path)
    try:
        yield f"unix:{path}"
    finally:
        server.close()


def tried(directory: Path, serve: Callable[[Reader, Writer], Awaitable[None]]) -> None:
    """Installs into `a`, which behaves as the test says, and `b`, which works."""

    async def run() -> None:
        async with (
            listening(directory, serve, "a") as bad,
            listening(directory, FakeSwitch().serve, "b") as good,
        ):
            await carry_out(change(None, rules()), {"a": bad, "b": good}, HASTY)

    asyncio.run(run())


def test_a_switch_that_answers_garbage_is_named(tmp_path: Path) -> None:
    async def web_server(_: Reader, writer: Writer) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with pytest.raises(SwitchFault, match=r"^switch 'a' at unix:.*: does not answer in OpenFlow 1.3: .*$"):
        tried(tmp_path, web_server)


def test_garbage_in_the_middle_of_a_phase_is_told_too(tmp_path: Path) -> None:
    class Odd(FakeSwitch):
        def answer(self, kind: int, xid: int, _body: bytes) -> bytes:
            return b"\xde\xad\xbe\xef" * 8 if kind == BARRIER else b""

    with pytest.raises(SwitchFault, match=r"'a' .* does not answer in OpenFlow 1.3"):
        tried(tmp_path, Odd().serve)


def test_a_switch_that_says_nothing_is_told(tmp_path: Path) -> None:
    async def silent(reader: Reader, _: Writer) -> None:
        await reader.read()

    with pytest.raises(SwitchUnreachable, match="no connection: no answer in time"):
        tried(tmp_path, silent)


def test_a_switch_that_never_confirms_is_told(tmp_path: Path) -> None:
    class Mute(FakeSwitch):
        def answer(self, kind: int, xid: int, _body: bytes) -> bytes:
            return b""

    with pytest.raises(SwitchUnreachable, match=r"'a' .* does not answer"):
        tried(tmp_path, Mute().serve)


def test_a_switch_that_is_not_there_is_told(tmp_path: Path) -> None:
    switches = {"a": f"unix:{tmp_path}/none", "b": f"unix:{tmp_path}/none"}
    with pytest.raises(SwitchUnreachable, match=r"'a' at unix:.*/none: no connection: No such file"):
        install(rules(), switches, patience=HASTY)


def test_a_refused_rule_is_named_with_the_reason_and_the_rest_is_put_back(tmp_path: Path) -> None:
    class Full(FakeSwitch):
        deleted = 0

        def answer(self, kind: int, xid: int, body: bytes) -> bytes:
            if kind == FLOW_MOD and body[16] == 1 and body[17] == 0 and body[22:24] != b"\0\0":
                return write_message(1, xid, b"\0\5\0\1")
            self.deleted += kind == FLOW_MOD and body[17] == 4
            return super().answer(kind, xid, body)

    full = Full()
    with pytest.raises(
        RuleRefused, match=r"add table=1,priority=17,to=ff18::/17: the rule was refused: the table is full"
    ):
        tried(tmp_path, full.serve)
    assert full.deleted


class Breaking(FakeSwitch):
    """Closes the connection at a barrier, as often as the test says, after it has answered some."""

    def __init__(self, times: int, holds: int = 5, first: int = 0) -> None:
        super().__init__()
        self.times = times
        self.first = first
        self.holds = holds

    async def serve(self, reader: Reader, writer: Writer) -> None:
        self.writer = writer
        await super().serve(reader, writer)

    def answer(self, kind: int, xid: int, body: bytes) -> bytes:
        self.first -= kind == BARRIER
        if kind == BARRIER and self.first < 0 and self.times:
            self.times -= 1
            self.writer.transport.abort()
            return b""
        if kind == MULTIPART:
            return super().answer(kind, xid, body)[:-8] + self.holds.to_bytes(4) + bytes(4)
        return super().answer(kind, xid, body)


def test_a_broken_connection_is_made_again_and_the_phase_sent_again(tmp_path: Path) -> None:
    switch = Breaking(times=1)
    tried(tmp_path, switch.serve)
    assert switch.connections == 2
    first = change(None, rules()).phases[0]
    assert switch.received.count(FLOW_MOD) > first.changes / 2


def test_a_connection_that_breaks_again_and_again_is_told(tmp_path: Path) -> None:
    with pytest.raises(SwitchUnreachable, match=r"'a' .* breaks again and again"):
        tried(tmp_path, Breaking(times=99).serve)


def test_a_switch_that_restarted_and_lost_its_rules_is_told(tmp_path: Path) -> None:
    prepared = sum(isinstance(each, Barrier) for each in change(None, rules()).phases[0].messages["a"]) + 1
    with pytest.raises(SwitchFault, match="has lost its rules: install all of them again"):
        tried(tmp_path, Breaking(times=1, holds=0, first=prepared).serve)


def test_a_switch_that_restarts_before_it_had_rules_is_no_fault(tmp_path: Path) -> None:
    tried(tmp_path, Breaking(times=1, holds=0).serve)


@pytest.mark.parametrize(
    "address", ["", "unix:", "tcp:host", "tcp:host:port", "tcp::1", "ssl:h:1", "tcp:h:99999"]
)
def test_a_bad_address_is_refused_before_anything_is_sent(address: str) -> None:
    with pytest.raises(BadInput, match=r"switches\['a'\]: .* is not an address of a switch"):
        install(rules(), {"a": address, "b": "unix:/b"})


def test_a_switch_without_an_address_is_named() -> None:
    with pytest.raises(BadInput, match="no address for switch 'b'"):
        install(rules(), {"a": "tcp:127.0.0.1:6653"})
