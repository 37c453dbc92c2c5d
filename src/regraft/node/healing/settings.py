"""The settings of a node: one broker with its agent and its adaptation manager.

One line of JSON on standard input, because it holds secrets; made by `regraft up --heal` and by tests.
"""

import secrets
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from regraft.broker.io.configuration import Configuration as BrokerConfiguration
from regraft.coord import Configuration, Layout
from regraft.deploy.agent_process import AgentSettings as ZookeeperSettings
from regraft.deploy.agent_process import read_settings, settings
from regraft.heal.core import HealingSettings
from regraft.heal.detection import DetectionTiming
from regraft.heal.election import ElectionSettings
from regraft.heal.limits import RemovalLimits
from regraft.heal.monitor import Overload
from regraft.model.files import decode_path


@dataclass(frozen=True)
class NodeSettings:
    """`broker` configures the broker; its neighbours come from ZooKeeper, its control endpoint is made
    here."""

    broker: BrokerConfiguration
    zookeeper: ZookeeperSettings
    region: str = ""
    beside: tuple[str, ...] = ()
    """Where it asks to join, if it is not in the overlay; empty: anywhere."""
    heal_port: int = 0
    """Where its manager listens, on the broker's host; 0: any free port."""
    token: str = field(default="", repr=False)
    """The secret that all managers know."""
    timing: DetectionTiming = DetectionTiming()  # noqa: RUF009 — a frozen value
    at_once: bool = False
    """A broker whose process is gone is suspected without waiting for the timer."""
    settle: float = 10.0
    """Seconds after the start in which no broker is suspected that the node has never been connected to."""
    election: ElectionSettings = ElectionSettings()  # noqa: RUF009
    removals: RemovalLimits = RemovalLimits()  # noqa: RUF009
    overload: Overload = Overload()  # noqa: RUF009
    measured: float = 1.0
    """Seconds between two samples of the monitor."""
    traffic: Path | None = None
    """A file of classes and their demand: the neighbours of a dead broker are joined in the way that is
    cheapest for them."""

    def healing(self, life: int) -> HealingSettings:
        """The part that the core needs; `life`: of the node's own broker."""
        return HealingSettings(
            id=self.id,
            life=life,
            region=self.region,
            beside=self.beside,
            timing=self.timing,
            at_once=self.at_once,
            settle=self.settle,
            election=self.election,
            removals=self.removals,
            overload=self.overload,
        )

    @property
    def id(self) -> str:
        return self.broker.broker

    @property
    def layout(self) -> Layout:
        return Layout(self.zookeeper.root)

    def driven(
        self, id: str, neighbours: tuple[str, ...], port: int, *, joining: bool = False
    ) -> BrokerConfiguration:
        """The configuration of a broker in this process: our own, or a deputy of another. `joining`: it is
        not in the overlay yet, and does not serve before it is."""
        own = id == self.id
        return replace(
            self.broker,
            broker=id,
            neighbours=neighbours,
            port=port,
            state=None,
            metrics=self.broker.metrics if own else None,
            control=("127.0.0.1", 0),
            control_token=secrets.token_urlsafe(16),
            remembered=True,
            settings=replace(self.broker.settings, fenced=True, joining=joining),
        )


def to_json(settings: NodeSettings) -> bytes:
    return msgspec.json.encode(settings, enc_hook=str)


def from_json(line: bytes) -> NodeSettings:
    return msgspec.json.decode(line, type=NodeSettings, dec_hook=decode_path)


def reaching(configuration: Configuration, layout: Layout) -> ZookeeperSettings:
    """How a node reaches ZooKeeper, as its settings say it."""
    return read_settings(settings(configuration, layout, ""))
