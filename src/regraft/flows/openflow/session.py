"""One connection to a switch as a state machine without sockets: bytes in, events and bytes out.

    waiting for hello ──hello──▶ waiting for features ──features──▶ ready

Greets with OpenFlow 1.3, answers echo requests in every state, and turns replies into events. What is not
OpenFlow 1.3 raises `Garbage`; a switch that speaks other versions only is one of these cases. Messages that
nobody asked for (packets, port states) are ignored.
"""

from collections.abc import Iterator
from enum import Enum, auto
from struct import Struct
from typing import NamedTuple

from regraft.flows.openflow.codec import (
    AGGREGATE_STATS,
    FLOW_STATS,
    FlowStats,
    read_flow_stats,
    write_flow_stats_request,
)
from regraft.flows.openflow.faults import describe
from regraft.flows.openflow.wire import HEADER, VERSION, Garbage, write_message

HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, FEATURES_REQUEST, FEATURES_REPLY = 0, 1, 2, 3, 5, 6
MULTIPART_REPLY, BARRIER_REQUEST, BARRIER_REPLY = 19, 20, 21
LAST_TYPE = 29

_ERROR = Struct("!HH")
_FEATURES = Struct("!QIBB2xI4x")
_MULTIPART = Struct("!HH4x")
_AGGREGATE = Struct("!QQI4x")
_MORE = 1


class State(Enum):
    HELLO = auto()
    FEATURES = auto()
    READY = auto()


class Ready(NamedTuple):
    """The switch has said who it is."""

    datapath: int
    tables: int


class Finished(NamedTuple):
    """A barrier: everything that was sent before it is done."""

    xid: int


class Failed(NamedTuple):
    """A message was refused; `xid` is that message's own."""

    xid: int
    reason: str


class Held(NamedTuple):
    """The rules that a switch holds, or how many: one part of the answer, `more` to come."""

    xid: int
    rules: tuple[FlowStats, ...]
    number: int
    more: bool


Event = Ready | Finished | Failed | Held


class Session:
    """Feed it with `receive`; send what `outgoing` gives."""

    def __init__(self) -> None:
        self.state = State.HELLO
        self._input = b""
        self._output = [write_message(HELLO, 0, _bitmap()), write_message(FEATURES_REQUEST, 0)]
        self._xid = 0

    def outgoing(self) -> bytes:
        data, self._output = b"".join(self._output), []
        return data

    def next_xid(self) -> int:
        """Never 0, which the greeting uses."""
        self._xid = self._xid % 0xFFFF_FFFF + 1
        return self._xid

    def barrier(self) -> int:
        """Asks for a `Finished` with the number that is returned."""
        xid = self.next_xid()
        self._output.append(write_message(BARRIER_REQUEST, xid))
        return xid

    def ask_rules(self, counted: bool = False) -> int:
        """Asks for `Held`."""
        xid = self.next_xid()
        self._output.append(write_flow_stats_request(xid, AGGREGATE_STATS if counted else FLOW_STATS))
        return xid

    def receive(self, data: bytes) -> Iterator[Event]:
        self._input += data
        at = 0
        while len(self._input) - at >= HEADER.size:
            version, kind, length, xid = HEADER.unpack_from(self._input, at)
            self._check(version, kind, length)
            if len(self._input) - at < length:
                break
            body = self._input[at + HEADER.size : at + length]
            at += length
            yield from self._handle(kind, version, xid, body)
        self._input = self._input[at:]

    def _check(self, version: int, kind: int, length: int) -> None:
        if length < HEADER.size or kind > LAST_TYPE:
            raise Garbage(f"a message of type {kind} and length {length}")
        if version != VERSION and not (kind in (HELLO, ERROR) and self.state is State.HELLO):
            raise Garbage(f"a message of version {version}; OpenFlow 1.3 is version {VERSION}")

    def _handle(self, kind: int, version: int, xid: int, body: bytes) -> Iterator[Event]:
        if kind == HELLO:
            if self.state is State.HELLO:
                _negotiate(version, body)
                self.state = State.FEATURES
        elif kind == ECHO_REQUEST:
            self._output.append(write_message(ECHO_REPLY, xid, body))
        elif kind == ERROR:
            yield self._failed(xid, body)
        elif self.state is State.HELLO:
            raise Garbage(f"a message of type {kind} before the greeting")
        elif kind == FEATURES_REPLY:
            datapath, _, tables, _, _ = _unpack(_FEATURES, body, "features")
            self.state = State.READY
            yield Ready(datapath, tables)
        elif kind == BARRIER_REPLY:
            yield Finished(xid)
        elif kind == MULTIPART_REPLY:
            yield from _held(xid, body)

    def _failed(self, xid: int, body: bytes) -> Failed:
        kind, code = _unpack(_ERROR, body, "error")
        if self.state is not State.READY:
            raise Garbage(f"the greeting was refused: {describe(kind, code, body[_ERROR.size :])}")
        return Failed(xid, describe(kind, code, body[_ERROR.size :]))


def _bitmap() -> bytes:
    """Hello element 1 (§7.5.1): bit 4 for version 4."""
    return Struct("!HHI").pack(1, 8, 1 << VERSION)


def _negotiate(version: int, body: bytes) -> None:
    """Both bitmaps decide if there are two; otherwise the smaller of the two versions."""
    if len(body) >= 8:
        kind, length, bits = Struct("!HHI").unpack_from(body)
        if kind == 1 and length >= 8:
            if not bits >> VERSION & 1:
                raise Garbage("the switch does not speak OpenFlow 1.3 (its greeting lists other versions)")
            return
    if version < VERSION:
        raise Garbage(f"the switch does not speak OpenFlow 1.3 (its greeting is of version {version})")


def _held(xid: int, body: bytes) -> Iterator[Held]:
    kind, flags = _unpack(_MULTIPART, body, "multipart")
    rest = body[_MULTIPART.size :]
    if kind == FLOW_STATS:
        rules = tuple(read_flow_stats(rest))
        yield Held(xid, rules, len(rules), bool(flags & _MORE))
    elif kind == AGGREGATE_STATS:
        yield Held(xid, (), _unpack(_AGGREGATE, rest, "aggregate")[2], False)


def _unpack(form: Struct, body: bytes, what: str) -> tuple[int, ...]:
    if len(body) < form.size:
        raise Garbage(f"a message of {what} is cut off")
    return form.unpack_from(body)
