"""What a broker's core is given when it starts: its limits, and the neighbours that it had."""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec


@dataclass(frozen=True)
class BrokerSettings:
    """Limits of a broker."""

    window: int = 4096
    """Publications that a client may have unconfirmed."""
    session_seconds: float = 60.0
    """How long a client may be away before its session ends."""
    settle_seconds: float = 10.0
    """How long after its hello a client may take to send again what was unconfirmed."""
    slow_seconds: float = 0.0
    """A client that confirms nothing for this long is disconnected and its session ends; with 0, publishers
    are held back instead, for as long as it takes."""
    filters_per_client: int = 1000
    joining: bool = False
    """A new broker: it serves no clients before it has been appended."""
    fenced: bool = False
    """Lives are given out centrally, so of two brokers with one id that with the higher life is right."""
    observe: bool = False
    """Whether facts for the telemetry are collected."""


NEIGHBOURS = "neighbours"
TURNED_AWAY = "this broker has too much to do"
_decode = msgspec.msgpack.Decoder(tuple[list[str], list[str]]).decode


def encode_neighbours(configured: list[str], now: Iterable[str]) -> bytes:
    return msgspec.msgpack.encode((configured, sorted(now)))


def neighbours_of(stored: bytes) -> list[str]:
    """The neighbours after the last change of links, from what is stored under `NEIGHBOURS`."""
    return _decode(stored)[1]


def neighbours_after(configured: list[str], stored: bytes | None) -> list[str]:
    """The neighbours after the last change of links, unless the configuration has changed since."""
    if stored is None:
        return configured
    before, changed = _decode(stored)
    return changed if before == configured else configured
