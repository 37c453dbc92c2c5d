"""What a broker says of itself: the Prometheus text format and a health document.

Counters are plain numbers that the shell adds to, once for a batch; everything else is read from the core
when a request comes.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regraft.broker.io.endpoint import HttpAnswer

if TYPE_CHECKING:
    from regraft.broker.io.segment_writer import SegmentWriter
    from regraft.broker.io.server import BrokerServer

TEXT = "text/plain; version=0.0.4; charset=utf-8"


@dataclass
class Counters:
    """Counted since the start."""

    publications_in: int = 0
    messages_in: int = 0
    messages_out: int = 0
    bytes_in: int = 0
    """Bytes of connections that have ended; open connections count their own."""
    bytes_out: int = 0
    refused: int = 0
    refusals: int = 0
    accepted: int = 0


def metrics(server: "BrokerServer") -> HttpAnswer:
    lines: list[str] = []
    for name, kind, help, value in _values(server):
        full = f"regraft_{name}"
        lines += [f"# HELP {full} {help}", f"# TYPE {full} {kind}"]
        lines.append(f'{full}{{broker="{_escaped(server.id)}"}} {value}')
    return HttpAnswer(TEXT, "\n".join(lines) + "\n")


def healthz(server: "BrokerServer") -> HttpAnswer:
    """Always status 200: a broker whose neighbour is gone is healthy itself."""
    seen = server.core.inspect() if server.core is not None else None
    document = {
        "broker": server.id,
        "status": server.fault or ("ok" if seen is not None else "starting"),
        "ready": seen is not None and seen.ready,
        "links": seen.links if seen is not None else {},
        "clients": seen.clients if seen is not None else 0,
    }
    return HttpAnswer("application/json", json.dumps(document) + "\n")


def _values(server: "BrokerServer") -> Iterator[tuple[str, str, str, float]]:
    counters, connections = server.counters, server.connections.values()
    yield "publications_received_total", "counter", "Publications that arrived.", counters.publications_in
    yield "messages_received_total", "counter", "Messages of the protocol that arrived.", counters.messages_in
    yield "messages_sent_total", "counter", "Messages of the protocol that left.", counters.messages_out
    in_, out = sum(c.bytes_in for c in connections), sum(c.bytes_out for c in connections)
    yield "received_bytes_total", "counter", "Bytes that arrived.", counters.bytes_in + in_
    yield "sent_bytes_total", "counter", "Bytes that left.", counters.bytes_out + out
    yield "connections_refused_total", "counter", "Peers that were closed with a reason.", counters.refused
    yield "refusals_total", "counter", "Filters and publications that were refused.", counters.refusals
    yield "connections_accepted_total", "counter", "Connections that began.", counters.accepted
    yield "connections", "gauge", "Connections now.", len(server.connections)
    if server.core is not None:
        seen = server.core.inspect()
        up = sum(state == "up" for state in seen.links.values())
        yield "links", "gauge", "Neighbours in the overlay.", len(seen.links)
        yield "links_up", "gauge", "Neighbours that are connected.", up
        yield "sessions", "gauge", "Clients, also those that are away.", seen.sessions
        yield "clients", "gauge", "Clients that are connected.", seen.clients
        yield "subscriptions", "gauge", "In the routing table.", seen.subscriptions
        yield "advertisements", "gauge", "In the routing table.", seen.advertisements
        yield "held_bytes", "gauge", "Publications kept until confirmed.", seen.held_bytes
        yield "ready", "gauge", "Whether all neighbours have told what they know.", int(seen.ready)
    if server.observer is not None:
        yield from _of_telemetry(server.observer.writer)


def _of_telemetry(writer: "SegmentWriter[Any]") -> Iterator[tuple[str, str, str, float]]:
    waiting = writer.waiting
    age = round(max(time.time() - waiting.oldest, 0.0), 3) if waiting.segments else 0
    yield "telemetry_records_total", "counter", "Telemetry records put into segments.", writer.written
    help = "How many publications one that is recorded stands for."
    yield "telemetry_one_in", "gauge", help, writer.one_in
    lost = writer.not_recorded
    yield "telemetry_not_recorded_total", "counter", "Telemetry records that no store will have.", lost
    help = "Of these, records that waited for the store for too long."
    yield "telemetry_lost_total", "counter", help, writer.lost
    help = "Segments that wait for the store."
    yield "telemetry_segments_waiting", "gauge", help, waiting.segments
    yield "telemetry_waiting_bytes", "gauge", "Their bytes.", waiting.bytes
    yield "telemetry_waiting_seconds", "gauge", "For how long the oldest of them waits.", age


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
