"""What has to be sent to the neighbours of a mesh broker, gathered into few messages."""

from collections.abc import Callable

from regraft.broker.core.effects import Send
from regraft.broker.core.mesh_interest import MeshInterest, MeshLink
from regraft.broker.core.mesh_streams import Copy
from regraft.protocol.messages import Confirm, Flood, Received

MOST_TOGETHER = 512
MOST_BYTES = 2**20
"""The most publications, and the most bytes of them, in one message."""


class Outbox:
    """By neighbour: publications, and answers to those that came. `flood` makes a message of copies."""

    def __init__(self, interest: MeshInterest, flood: Callable[[list[Copy], MeshLink], Flood]) -> None:
        self.interest = interest
        self.flood = flood
        self._copies: dict[str, list[Copy]] = {}
        self._received: dict[str, list[tuple[str, int]]] = {}
        self._confirmed: dict[str, list[tuple[str, int, int]]] = {}

    def offer(self, neighbour: str, copy: Copy) -> None:
        self._copies.setdefault(neighbour, []).append(copy)

    def received(self, neighbour: str, stream: str, seq: int) -> None:
        self._received.setdefault(neighbour, []).append((stream, seq))

    def confirmed(self, neighbour: str, stream: str, previous: int, seq: int) -> None:
        self._confirmed.setdefault(neighbour, []).append((stream, previous, seq))

    def take_sends(self) -> list[Send]:
        """What has to be sent: publications first, then answers to those that came."""
        if not (self._copies or self._received or self._confirmed):
            return []
        sends: list[Send] = []
        for link in self.interest.links.values():
            if link.connection is None:
                continue
            sends += self.take_floods(link)
            sends += [Send(link.connection, each) for each in _receipts(self._received.get(link.name, []))]
            sends += [Send(link.connection, each) for each in _confirms(self._confirmed.get(link.name, []))]
        self._copies, self._received, self._confirmed = {}, {}, {}
        return sends

    def take_floods(self, link: MeshLink) -> list[Send]:
        assert link.connection is not None
        sends: list[Send] = []
        batch: list[Copy] = []
        size = 0
        for copy in self._copies.pop(link.name, []):
            fits = len(batch) < MOST_TOGETHER and size + len(copy.event) <= MOST_BYTES
            if batch and not (fits and batch[-1].stream is copy.stream and batch[-1].seq == copy.previous):
                sends.append(Send(link.connection, self.flood(batch, link)))
                batch, size = [], 0
            batch.append(copy)
            size += len(copy.event)
        if batch:
            sends.append(Send(link.connection, self.flood(batch, link)))
        return sends


def _receipts(received: list[tuple[str, int]]) -> list[Received]:
    by_stream: dict[str, list[int]] = {}
    for stream, seq in received:
        by_stream.setdefault(stream, []).append(seq)
    return [Received(stream, seqs) for stream, seqs in by_stream.items()]


def _confirms(confirmed: list[tuple[str, int, int]]) -> list[Confirm]:
    """One message for each stream; consecutive publications are one range."""
    by_stream: dict[str, list[int]] = {}
    for stream, previous, seq in confirmed:
        ranges = by_stream.setdefault(stream, [])
        if ranges and ranges[-1] == previous:
            ranges[-1] = seq
        else:
            ranges += (seq, seq)
    return [Confirm(stream, ranges) for stream, ranges in by_stream.items()]
