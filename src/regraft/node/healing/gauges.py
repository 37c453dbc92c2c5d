"""The links, the traffic and the load of the brokers in this process."""

from collections.abc import Mapping

from regraft.heal.monitor import Sample, process_figures
from regraft.node.healing.hosting import Hosted
from regraft.protocol.messages import LinkHello

TRAFFIC_BYTES = 256
"""More bytes to a neighbour than this between two looks are more than heartbeats."""


class Gauges:
    def __init__(self, brokers: Mapping[str, Hosted]) -> None:
        self._brokers = brokers
        self._sent: dict[int, int] = {}

    def neighbours(self) -> dict[str, frozenset[str]]:
        """The neighbours of each broker that has begun."""
        return {
            id: frozenset(core.links)
            for id, hosted in self._brokers.items()
            if (core := hosted.server.core) is not None
        }

    def busy(self) -> frozenset[str]:
        """Neighbours to which messages have gone since the last time."""
        sent: dict[int, int] = {}
        busy: set[str] = set()
        for hosted in self._brokers.values():
            for connection in list(hosted.server.connections.values()):
                if isinstance(connection.hello, LinkHello):
                    key = id(connection)
                    sent[key] = connection.bytes_out
                    if connection.bytes_out - self._sent.get(key, 0) > TRAFFIC_BYTES:
                        busy.add(connection.hello.broker)
        self._sent = sent
        return frozenset(busy)

    def sample(self) -> Sample:
        """Figures of this process, with those of all its brokers."""
        sample = process_figures()
        for hosted in self._brokers.values():
            if hosted.server.core is None:
                continue
            seen, counters = hosted.server.core.inspect(), hosted.server.counters
            sample = sample._replace(
                queue=sample.queue + seen.held_bytes,
                clients=sample.clients + seen.clients,
                publications_in=sample.publications_in + counters.publications_in,
                messages_out=sample.messages_out + counters.messages_out,
            )
        return sample
