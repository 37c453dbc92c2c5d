"""One connection to a switch as a state machine without sockets: bytes in, events and bytes out.

    waiting for hello ──hello──▶ waiting for features ──features──▶ ready

Greets with OpenFlow 1.3, answers echo requests in every state, and turns replies into events. Bytes that are
not OpenFlow 1.3 raise `Garbage`, and so does a switch that speaks other versions only. Messages that answer
no request (packets, port states) are ignored. Errors of switches are put into words (§7.5.4): those that
rules can cause by name, others by number.
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
from regraft.flows.openflow.wire import HEADER, VERSION, Garbage, write_message

HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, FEATURES_REQUEST, FEATURES_REPLY = 0, 1, 2, 3, 5, 6
MULTIPART_REPLY, BARRIER_REQUEST, BARRIER_REPLY = 19, 20, 21
LAST_TYPE = 29

_ERROR = Struct("!HH")
_FEATURES = Struct("!QIBB2xI4x")
_MULTIPART = Struct("!HH4x")
_AGGREGATE = Struct("!QQI4x")
_MORE = 1


_ERROR_TYPES = {
    0: "no common version",
    1: "bad request",
    2: "bad action",
    3: "bad instruction",
    4: "bad match",
    5: "the rule was refused",
    0xFFFF: "experimenter",
}

_ERROR_CODES = {
    (1, 0): "version not supported",
    (1, 1): "message type not supported",
    (1, 5): "no permission",
    (1, 9): "unknown table",
    (1, 10): "this controller is a slave",
    (2, 0): "unknown action type",
    (2, 4): "unknown port",
    (2, 7): "too many actions",
    (2, 13): "field cannot be set",
    (2, 14): "bad value for a field",
    (3, 0): "unknown instruction",
    (3, 2): "unknown table to go to",
    (4, 4): "masks of addresses not supported",
    (4, 6): "field not supported",
    (4, 7): "bad value of a field",
    (4, 8): "mask not supported",
    (4, 9): "a field lacks what it requires",
    (5, 0): "unspecified",
    (5, 1): "the table is full",
    (5, 2): "unknown table",
    (5, 3): "overlaps another rule",
    (5, 4): "no permission",
}

_HELLO_FAILED = 0
"""The type of error whose data is a sentence."""


class HandshakeState(Enum):
    HELLO = auto()
    FEATURES = auto()
    READY = auto()


class SwitchReady(NamedTuple):
    """The switch has identified itself; requests may be sent."""

    datapath: int
    tables: int


class BarrierDone(NamedTuple):
    """The switch has finished everything that was sent before the barrier of this number."""

    xid: int


class MessageFailed(NamedTuple):
    """The switch refused the message of this number."""

    xid: int
    reason: str


class HeldRules(NamedTuple):
    """The rules that a switch holds, or only their number. If `more`, other parts of the answer follow."""

    xid: int
    rules: tuple[FlowStats, ...]
    number: int
    more: bool


Event = SwitchReady | BarrierDone | MessageFailed | HeldRules


class Session:
    """Feed it with `receive`; send what `outgoing` returns."""

    def __init__(self) -> None:
        self.state = HandshakeState.HELLO
        self._input = b""
        self._output = [write_message(HELLO, 0, _bitmap()), write_message(FEATURES_REQUEST, 0)]
        self._xid = 0

    def outgoing(self) -> bytes:
        data, self._output = b"".join(self._output), []
        return data

    def next_xid(self) -> int:
        """The number of the next message: never 0, which the greeting uses."""
        self._xid = self._xid % 0xFFFF_FFFF + 1
        return self._xid

    def barrier(self) -> int:
        """Send a barrier; it is answered by a `BarrierDone` with the number that is returned."""
        xid = self.next_xid()
        self._output.append(write_message(BARRIER_REQUEST, xid))
        return xid

    def ask_rules(self, counted: bool = False) -> int:
        """Ask which of our rules the switch holds, or how many; the answer is one or more `HeldRules`."""
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
        if version != VERSION and not (kind in (HELLO, ERROR) and self.state is HandshakeState.HELLO):
            raise Garbage(f"a message of version {version}; OpenFlow 1.3 is version {VERSION}")

    def _handle(self, kind: int, version: int, xid: int, body: bytes) -> Iterator[Event]:
        if kind == HELLO:
            if self.state is HandshakeState.HELLO:
                _negotiate(version, body)
                self.state = HandshakeState.FEATURES
        elif kind == ECHO_REQUEST:
            self._output.append(write_message(ECHO_REPLY, xid, body))
        elif kind == ERROR:
            yield self._failed(xid, body)
        elif self.state is HandshakeState.HELLO:
            raise Garbage(f"a message of type {kind} before the greeting")
        elif kind == FEATURES_REPLY:
            datapath, _, tables, _, _ = _unpack(_FEATURES, body, "features")
            self.state = HandshakeState.READY
            yield SwitchReady(datapath, tables)
        elif kind == BARRIER_REPLY:
            yield BarrierDone(xid)
        elif kind == MULTIPART_REPLY:
            yield from _held(xid, body)

    def _failed(self, xid: int, body: bytes) -> MessageFailed:
        kind, code = _unpack(_ERROR, body, "error")
        if self.state is not HandshakeState.READY:
            raise Garbage(f"the greeting was refused: {describe(kind, code, body[_ERROR.size :])}")
        return MessageFailed(xid, describe(kind, code, body[_ERROR.size :]))


def _bitmap() -> bytes:
    """Hello element 1 (§7.5.1): bit 4 for version 4."""
    return Struct("!HHI").pack(1, 8, 1 << VERSION)


def _negotiate(version: int, body: bytes) -> None:
    """If both greetings have a bitmap of versions, these decide; otherwise the smaller version counts."""
    if len(body) >= 8:
        kind, length, bits = Struct("!HHI").unpack_from(body)
        if kind == 1 and length >= 8:
            if not bits >> VERSION & 1:
                raise Garbage("the switch does not speak OpenFlow 1.3 (its greeting lists other versions)")
            return
    if version < VERSION:
        raise Garbage(f"the switch does not speak OpenFlow 1.3 (its greeting is of version {version})")


def _held(xid: int, body: bytes) -> Iterator[HeldRules]:
    kind, flags = _unpack(_MULTIPART, body, "multipart")
    rest = body[_MULTIPART.size :]
    if kind == FLOW_STATS:
        rules = tuple(read_flow_stats(rest))
        yield HeldRules(xid, rules, len(rules), bool(flags & _MORE))
    elif kind == AGGREGATE_STATS:
        yield HeldRules(xid, (), _unpack(_AGGREGATE, rest, "aggregate")[2], False)


def _unpack(form: Struct, body: bytes, what: str) -> tuple[int, ...]:
    if len(body) < form.size:
        raise Garbage(f"a message of {what} is cut off")
    return form.unpack_from(body)


def describe(kind: int, code: int, data: bytes) -> str:
    """A switch's error message in one line."""
    problem = _ERROR_TYPES.get(kind, f"error of type {kind}")
    words = f"{problem}: {_ERROR_CODES.get((kind, code), f'code {code}')}"
    if kind == _HELLO_FAILED and data:
        said = data.decode("ascii", "replace").strip("\0")
        words += f" ({''.join(letter if letter.isprintable() else '?' for letter in said)[:100]})"
    return words
