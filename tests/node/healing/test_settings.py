"""The settings of a node, and what its brokers and its core get of them."""

from dataclasses import fields
from pathlib import Path

from regraft.broker.io.configuration import Configuration as BrokerConfiguration
from regraft.coord import Configuration, Digest, Layout
from regraft.heal.core import HealingSettings
from regraft.heal.detection import DetectionTiming
from regraft.heal.limits import RemovalLimits
from regraft.heal.monitor import Overload
from regraft.node.healing.settings import NodeSettings, from_json, reaching, to_json
from regraft.wire.identity import Tls


def test_settings_come_through_as_they_are(tmp_path: Path) -> None:
    zookeeper = Configuration("127.0.0.1:2181", Digest("user", "password"), session_timeout=4.0)
    broker = BrokerConfiguration("b1", tls=Tls(tmp_path / "c.pem", tmp_path / "k.pem"), port=7000)
    settings = NodeSettings(
        broker,
        reaching(zookeeper, Layout("/elsewhere")),
        token="secret",
        timing=DetectionTiming(timer=0.05, adaptive=True),
        removals=RemovalLimits(removals=3),
        overload=Overload(cpu=0.5),
        traffic=tmp_path / "traffic.json",
    )
    again = from_json(to_json(settings))
    assert again == settings
    assert again.zookeeper.configuration == zookeeper
    assert again.layout == Layout("/elsewhere")
    assert "secret" not in repr(settings)


def test_a_deputy_is_driven_and_fenced_as_the_node_itself(tmp_path: Path) -> None:
    settings = NodeSettings(
        BrokerConfiguration("b1", port=7000, metrics=("127.0.0.1", 0), state=tmp_path),
        reaching(Configuration("127.0.0.1:2181"), Layout()),
    )
    own, deputy = settings.driven("b1", ("b0",), 7000), settings.driven("b2", ("b1", "b3"), 0)
    assert (own.port, deputy.port, own.state) == (7000, 0, None)
    assert (own.metrics, deputy.metrics) == (("127.0.0.1", 0), None)
    assert own.settings.fenced
    assert deputy.settings.fenced
    assert deputy.remembered
    assert own.control_token != deputy.control_token


def test_the_core_is_told_all_that_concerns_it() -> None:
    settings = NodeSettings(
        BrokerConfiguration("b1"),
        reaching(Configuration("127.0.0.1:2181"), Layout()),
        region="north",
        beside=("b0",),
        at_once=True,
        settle=3.0,
        timing=DetectionTiming(timer=0.05),
        removals=RemovalLimits(removals=3),
        overload=Overload(cpu=0.5),
    )
    told = settings.healing(7)
    assert told.life == 7
    for field in fields(HealingSettings):
        if field.name != "life":
            assert getattr(told, field.name) == getattr(settings, field.name)
