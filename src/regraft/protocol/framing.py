"""Bytes of a connection → messages, and messages → frames that the peer's limit allows.

Shared by brokers and clients; it holds at most one unfinished frame.
"""

from collections.abc import Iterator, Sequence

import msgspec

from regraft.protocol.messages import AnyMessage, Run
from regraft.protocol.wire import HEADER, BadFrame, Wire


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
    run = messages[0]
    if not isinstance(run, Run) or len(run.seqs) < 2:
        raise BadFrame("frame", f"a {type(run).__name__} is longer than a frame may be")
    middle = len(run.seqs) // 2
    first = msgspec.structs.replace(run, seqs=run.seqs[:middle], events=run.events[:middle])
    return [first], [msgspec.structs.replace(run, seqs=run.seqs[middle:], events=run.events[middle:])]
