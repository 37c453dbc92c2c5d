"""Messages ↔ bytes. A frame is its length (4 bytes, big-endian), then [number, messages] as MessagePack.

Frames of a connection are numbered, so that a repeated one is dropped and a missing one is noticed at
the next: the connection is then given up, and everything unconfirmed comes again on a new one.
"""

import msgspec

from regraft.model import BadInput
from regraft.protocol.messages import AnyMessage

HEADER = 4
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[int, list[AnyMessage]])


class BadFrame(BadInput):
    """What the peer sent breaks the protocol: the connection ends."""


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
        return len(body).to_bytes(HEADER, "big") + body

    def length(self, header: bytes | bytearray | memoryview) -> int:
        """How many bytes follow these four."""
        length = int.from_bytes(header, "big")
        if length > self.limit:
            raise BadFrame("frame", f"of {length} bytes, at most {self.limit} are allowed")
        return length

    def messages(self, body: bytes | bytearray | memoryview) -> list[AnyMessage]:
        """What the frame says; nothing, if it is a repetition."""
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
