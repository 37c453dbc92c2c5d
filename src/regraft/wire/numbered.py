"""The frames of brokers and clients: many messages each, numbered, and no longer than the peer allows.

A frame is its length (four bytes, big-endian), then [number, messages] as MessagePack. Frames of a connection
are numbered, so that a repeated one is dropped and a missing one is noticed at the next: the connection is
then given up, and everything unconfirmed comes again on a new one. At most one unfinished frame is held.
"""

from collections.abc import Iterator, Sequence

import msgspec

from regraft.protocol.messages import AnyMessage, Handover, Run, Update
from regraft.wire.frames import HEADER, LENGTH, BadFrame

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[int, list[AnyMessage]])


class Wire:
    """One end of a connection: gives numbers to frames that leave, checks those that come."""

    __slots__ = ("limit", "received", "sent")

    def __init__(self, limit: int = 16 * 2**20) -> None:
        self.limit = limit
        self.sent = 0
        self.received = 0

    def frame(self, messages: list[AnyMessage]) -> bytes:
        """The next frame; one without messages only shows the peer that nothing is missing."""
        self.sent += 1
        body = _encoder.encode((self.sent, messages))
        return LENGTH.pack(len(body)) + body

    def length(self, header: bytes | bytearray | memoryview) -> int:
        """How many bytes follow these four."""
        length = int.from_bytes(header, "big")
        if length > self.limit:
            raise BadFrame("frame", f"of {length} bytes, at most {self.limit} are allowed")
        return length

    def messages(self, body: bytes | bytearray | memoryview) -> list[AnyMessage]:
        """The messages of the frame; none if the frame is a repetition."""
        try:
            number, messages = _decoder.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            raise BadFrame("frame", f"not a message of this protocol: {fault}") from None
        if number <= self.received:
            return []
        if number > self.received + 1:
            raise BadFrame("frame", f"number {number} came after {self.received}: frames are missing")
        self.received = number
        return messages


class Reader:
    """Cuts what arrives into frames."""

    __slots__ = ("_need", "_rest", "wire")

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self._rest = bytearray()
        self._need = 0

    def messages(self, data: bytes, first_only: bool = False) -> list[AnyMessage]:
        """All messages that these bytes complete; `BadFrame` if they break the protocol.

        With `first_only`, those of the next frame that has any: what follows stays for the next call.
        """
        rest = self._rest
        if rest:
            rest += data
            if len(rest) < self._need:
                return []
            data = bytes(rest)
            rest.clear()
        view, at, end = memoryview(data), 0, len(data)
        found: list[AnyMessage] = []
        while (start := at + HEADER) <= end:
            after = start + self.wire.length(view[at:start])
            if after > end:
                self._need = after - at
                break
            found += self.wire.messages(view[start:after])
            at = after
            if found and first_only:
                self._need = HEADER
                break
        else:
            self._need = HEADER
        if at < end:
            rest += view[at:]
        return found


def frames(wire: Wire, messages: Sequence[AnyMessage]) -> Iterator[bytes]:
    """The messages in one frame, or in several if one would be too long for the peer."""
    frame = wire.frame(list(messages))
    if len(frame) - HEADER <= wire.limit:
        yield frame
        return
    wire.sent -= 1  # it never leaves
    for part in _halves(messages):
        yield from frames(wire, part)


def _halves(messages: Sequence[AnyMessage]) -> tuple[Sequence[AnyMessage], Sequence[AnyMessage]]:
    if len(messages) > 1:
        middle = len(messages) // 2
        return messages[:middle], messages[middle:]
    parts = _cut(messages[0])
    if parts is None:
        raise BadFrame("frame", f"a {type(messages[0]).__name__} is longer than a frame may be")
    return [parts[0]], [parts[1]]


def _cut(message: AnyMessage) -> tuple[AnyMessage, AnyMessage] | None:
    """Two messages that together say the same, or None."""
    if isinstance(message, Run) and len(message.seqs) > 1:
        middle = len(message.seqs) // 2
        return message.part(slice(None, middle)), message.part(slice(middle, None))
    if isinstance(message, Handover) and message.runs:
        return _cut_handover(message)
    if isinstance(message, Update):
        return _cut_update(message)
    return None


def _cut_handover(message: Handover) -> tuple[Handover, Handover] | None:
    runs = message.runs
    if len(runs) == 1:
        parts = _cut(runs[0])
        if parts is None:
            return None
        runs = [part for part in parts if isinstance(part, Run)]
    middle = len(runs) // 2
    replace = msgspec.structs.replace
    return replace(message, runs=runs[:middle], last=False), replace(message, runs=runs[middle:])


def _cut_update(message: Update) -> tuple[Update, Update] | None:
    """All additions before anything else, so that what covers is there before what it covers is gone.

    What holds for the whole message (`all_…`) goes last.
    """
    replace = msgspec.structs.replace
    added = {name: getattr(message, name) for name in ADDED}
    others = {name: getattr(message, name) for name in OTHERS}
    if any(added.values()) and any(others.values()):
        return replace(Update(), **added), replace(message, **{name: [] for name in ADDED})
    lists = {name: values for name, values in (added | others).items() if len(values) > 1}
    if not lists:
        return None
    name, values = max(lists.items(), key=lambda item: len(item[1]))
    middle = len(values) // 2
    return replace(Update(), **{name: values[:middle]}), replace(message, **{name: values[middle:]})


ADDED = ("advertisements", "subscriptions")
OTHERS = ("gone_subscriptions", "gone_advertisements", "placed_advertisements", "placed_subscriptions")
