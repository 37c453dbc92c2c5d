"""Bytes → messages and messages → bytes, without input or output.

A frame is its length (four bytes, big-endian) and a MessagePack value, or, where people may want to read
along, one line of JSON. Bytes that are not a message raise `BadFrame` with the reason; the messages before
them have been handed over by then. At most one unfinished frame and the last received piece are held.
"""

import struct
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import msgspec

from regraft.model import BadInput

LENGTH = struct.Struct(">I")
HEADER = LENGTH.size
In = TypeVar("In")
Out = TypeVar("Out")


class BadFrame(BadInput):
    """What the peer sent breaks the protocol: the connection ends."""


class Format(Generic[In, Out]):
    """One end of a conversation: which messages come in, which go out, and how many bytes one may have.

    `incoming` is the type that is decoded; `lines` means JSON lines instead of frames of MessagePack.
    """

    def __init__(self, incoming: Any, largest: int, *, lines: bool = False) -> None:
        self.largest = largest
        self.lines = lines
        kind = msgspec.json if lines else msgspec.msgpack
        self._decode = kind.Decoder(incoming).decode
        self._encode = kind.Encoder().encode

    def frame(self, message: Out) -> bytes:
        body: bytes = self._encode(message)
        return body + b"\n" if self.lines else LENGTH.pack(len(body)) + body

    def message(self, body: bytes) -> In:
        try:
            found: In = self._decode(body)
        except MemoryError:  # our own fault, or that of a limit on this process; the peer is not to blame
            raise
        except Exception as fault:  # of the decoder, or of a check that the message makes of itself
            raise BadFrame("", f"something that is not a message: {fault}".splitlines()[0]) from None
        return found


class Frames(Generic[In]):
    """What has arrived on one connection and was not read yet."""

    def __init__(self, format: Format[In, Any]) -> None:
        self.format = format
        """May be replaced between two messages; the next one is read with the new format."""
        self._rest = bytearray()
        self._searched = 0
        """Bytes of the unfinished line that hold no end of a line."""

    def add(self, data: bytes) -> None:
        self._rest += data

    def messages(self) -> Iterator[In]:
        """The complete messages, one by one; a caller that stops early gets the others at the next call."""
        while (body := self._line() if self.format.lines else self._prefixed()) is not None:
            yield self.format.message(body)

    def _prefixed(self) -> bytes | None:
        rest = self._rest
        if len(rest) < HEADER:
            return None
        (length,) = LENGTH.unpack_from(rest)
        if length > self.format.largest:
            raise BadFrame("", f"a frame of {length} bytes, where {self.format.largest} are allowed")
        return self._taken(HEADER, HEADER + length) if len(rest) >= HEADER + length else None

    def _line(self) -> bytes | None:
        end = self._rest.find(b"\n", self._searched)
        self._searched = len(self._rest) if end < 0 else 0
        if max(end, self._searched) > self.format.largest:
            raise BadFrame("", f"a line of more than {self.format.largest} bytes")
        return self._taken(0, end, 1) if end >= 0 else None

    def _taken(self, start: int, end: int, behind: int = 0) -> bytes:
        body = bytes(memoryview(self._rest)[start:end])
        del self._rest[: end + behind]
        return body
