"""What one broker's shell is told before it starts: where it listens, which peers it trusts, what it allows.

Frozen values; files and command lines are turned into them elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from regraft.broker.core import BrokerSettings
from regraft.model import BadInput, Kind
from regraft.wire.identity import Tls

Address = tuple[str, int]
if TYPE_CHECKING:
    Place: TypeAlias = str | Path
else:
    Place = str  # what it is turned into, and what is read from JSON

OUTBOX = Path("out/outbox")
"""Where segments of brokers without journals wait for a store that is not a folder."""
RESERVED = ("@", "!")
"""Prefixes that mark other names than brokers' in the core, such as a client's: `@client`."""
NO_BROKER = "a broker's id does not begin with '@' or '!', and has no '/' or '#'"


@dataclass(frozen=True)
class Allowed:
    """How much one peer may take of the broker; one that takes more is told so and disconnected."""

    frame_bytes: int = 16 * 2**20
    hello_bytes: int = 2 * 2**20
    """The limit of the first frame, which comes from an unknown peer."""
    connections: int = 10_000
    sessions: int = 20_000
    """Sessions of clients, connected or away for a while."""
    queue_bytes: int = 64 * 2**20
    """Bytes of publications that may wait for a peer to read."""
    unconfirmed_bytes: int = 64 * 2**20
    """Bytes of publications that a client has sent and that are not confirmed. Our clients keep to 16 MiB,
    or to one event if it is larger."""
    refusals: int = 10_000
    """How many of a client's filters and publications may be refused; each heartbeat forgives a tenth."""
    confirmed_ranges: int = 10_000
    """Ranges in one confirmation of a client; our clients send one or two."""
    hello_seconds: float = 5.0
    """How long a new peer may take to say who it is."""
    silent_seconds: float = 10.0
    """A peer that sends nothing, not even heartbeats, for this long is gone."""
    stalled_seconds: float = 30.0
    """A peer that reads nothing for this long, while something waits for it, is gone."""
    heartbeat_seconds: float = 1.0


@dataclass(frozen=True)
class Tokens:
    """Secrets that a peer must know; no peer is asked for an empty one."""

    brokers: str = ""
    clients: Mapping[str, str] = field(default_factory=dict)
    """By the client's name; `*` stands for every name that is not listed."""


@dataclass(frozen=True)
class Telemetry:
    """Where segments of telemetry records (`regraft.protocol.telemetry`) are put: a folder, or the address of
    a store such as `s3://bucket/prefix`. One publication in `one_in` is recorded, the same ones on every
    broker, and if that is not each one, all are counted. If segments need more than `budget` bytes a second,
    the sample becomes smaller."""

    place: Place
    one_in: int = 1
    budget: float = 2.0**20
    queue: int = 100_000
    """Publications, hops and deliveries that may wait for the writer; those beyond it are only counted."""
    segment_seconds: float = 2.0
    """For how long a segment is open; a crash loses its records. It is closed earlier if it has as many as
    `segment_rows`."""
    segment_rows: int = 100_000
    interest_seconds: float = 300.0
    """How often all current interest is told again."""
    outbox: Path | None = None
    """The local folder where segments wait for a store that is not a folder: by default, beside the
    journals."""
    outbox_bytes: int = 256 * 2**20
    """For each broker: when more wait, the records of the oldest segments are dropped, except interest."""
    health_seconds: float = 5.0
    probes: int = 2
    """How many other brokers are probed after each health record, in turn, for the round trips to them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", str(self.place))


@dataclass(frozen=True)
class Configuration:
    """One broker."""

    broker: str
    neighbours: tuple[str, ...] = ()
    kind: Kind = "tree"
    host: str = "127.0.0.1"
    port: int = 0
    """0 means any free port."""
    state: Path | None = None
    """Folder of the journal; without it, a restarted broker knows nothing of its sessions."""
    settings: BrokerSettings = BrokerSettings()  # noqa: RUF009 — a frozen value
    connected: int = 1
    """In a mesh: how connected a topic has to be among the brokers that have it, to be in place."""
    allowed: Allowed = Allowed()
    tls: Tls | None = None
    tokens: Tokens = Tokens()
    telemetry: Telemetry | None = None
    metrics: Address | None = None
    """Where `/metrics` and `/healthz` are served; None means nowhere."""
    control: Address | None = None
    """Where the broker's agent may control it; None means nowhere."""
    control_token: str = field(default="", repr=False)
    """The secret that the agent must know."""
    remembered: bool = False
    """The links of the journal count, whatever `neighbours` says: a deployer has changed them."""

    @property
    def outbox(self) -> Path:
        """Where segments wait for a store that is not a folder."""
        if self.telemetry is not None and self.telemetry.outbox is not None:
            return self.telemetry.outbox
        return self.state / "outbox" if self.state is not None else OUTBOX

    def __post_init__(self) -> None:
        for id in (self.broker, *self.neighbours):
            if id.startswith(RESERVED) or "/" in id or "#" in id:
                raise BadInput(f"broker {id!r}", NO_BROKER)
