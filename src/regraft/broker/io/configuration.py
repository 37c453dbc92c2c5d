"""What one broker's shell is told before it starts: where it listens, whom it trusts, what it allows.

Frozen values; files and command lines are turned into them elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from regraft.broker.core import Settings
from regraft.model import BadInput, Kind
from regraft.wire.identity import Tls

Address = tuple[str, int]

RESERVED = ("@", "!")
"""How the names of clients begin where they stand beside those of brokers."""
NO_BROKER = "a broker's id does not begin with '@' or '!', and has no '/' or '#'"


@dataclass(frozen=True)
class Allowed:
    """How much one peer may take of the broker; whoever takes more is told so and closed."""

    frame_bytes: int = 16 * 2**20
    hello_bytes: int = 2 * 2**20
    """Of the first frame: before it, nobody knows who sends."""
    connections: int = 10_000
    sessions: int = 20_000
    """Of clients, connected or away for a while."""
    queue_bytes: int = 64 * 2**20
    """Of publications that wait for a peer to read."""
    unconfirmed_bytes: int = 64 * 2**20
    """Of publications that a client has sent and that are not confirmed. Our clients keep to 16 MiB, or
    to one event if it is larger."""
    refusals: int = 10_000
    """Of a client's filters and publications; a tenth of it is forgiven at each heartbeat."""
    confirmed_ranges: int = 10_000
    """In one confirmation of a client; ours send one or two."""
    hello_seconds: float = 5.0
    """A new peer has so long to say who it is."""
    silent_seconds: float = 10.0
    """A peer that sends nothing, not even heartbeats, for so long is gone."""
    stalled_seconds: float = 30.0
    """A peer that reads nothing for so long, while something waits for it, is gone."""
    heartbeat_seconds: float = 1.0


@dataclass(frozen=True)
class Tokens:
    """Secrets that a peer must know; an empty one is asked of nobody."""

    brokers: str = ""
    clients: Mapping[str, str] = field(default_factory=dict)
    """By client's name; `*` stands for every name that is not there."""


@dataclass(frozen=True)
class Telemetry:
    """Where telemetry records (`regraft.protocol.telemetry`) are spooled. `sampled` keeps one publication in
    `one_in`, the same ones on every broker."""

    folder: Path
    mode: Literal["sampled", "exact"] = "exact"
    one_in: int = 100
    queue: int = 100_000
    """Publications, hops and deliveries that may wait for the writer; what is more is counted instead."""
    file_bytes: int = 64 * 2**20
    """A file that has grown beyond this, or has been open for `file_seconds`, is closed: the next begins."""
    file_seconds: float = 60.0
    sync_seconds: float = 1.0
    health_seconds: float = 5.0


@dataclass(frozen=True)
class Configuration:
    """One broker."""

    broker: str
    neighbours: tuple[str, ...] = ()
    kind: Kind = "tree"
    host: str = "127.0.0.1"
    port: int = 0
    """0: any free one."""
    state: Path | None = None
    """Folder of the journal; without it, a restarted broker knows nothing of its sessions."""
    settings: Settings = Settings()  # noqa: RUF009 — a frozen value
    connected: int = 1
    """In a mesh: how connected a topic has to be among the brokers that have it, to be in place."""
    allowed: Allowed = Allowed()
    tls: Tls | None = None
    tokens: Tokens = Tokens()
    telemetry: Telemetry | None = None
    metrics: Address | None = None
    """Where `/metrics` and `/healthz` answer; None: nowhere."""
    control: Address | None = None
    """Where the broker's agent may drive it; None: nowhere."""
    control_token: str = field(default="", repr=False)
    """That the agent must know."""
    remembered: bool = False
    """The links of the journal count, whatever `neighbours` says: a deployer has changed them."""

    def __post_init__(self) -> None:
        for id in (self.broker, *self.neighbours):
            if id.startswith(RESERVED) or "/" in id or "#" in id:
                raise BadInput(f"broker {id!r}", NO_BROKER)
