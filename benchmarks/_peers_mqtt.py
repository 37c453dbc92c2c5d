"""Mosquitto (a system package, C) and amqtt (PyPI, asyncio): MQTT brokers driven at QoS 1."""

import getpass
import importlib.metadata
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks._load import Load
from benchmarks._peers import Unavailable, free_ports, started


@dataclass(frozen=True)
class MqttChain:
    first: int
    last: int
    window: int
    """What the broker takes unacknowledged from one publisher without slowing down."""

    def publisher(self, load: Load) -> Sequence[str]:
        return self._command("publish", self.first, load)

    def subscriber(self, load: Load) -> Sequence[str]:
        return self._command("subscribe", self.last, load)

    def _command(self, role: str, port: int, load: Load) -> Sequence[str]:
        words = replace(load, window=self.window).words()
        return [sys.executable, "-m", "benchmarks._load_mqtt", role, str(port), *words]


@dataclass(frozen=True)
class Mosquitto:
    """Nothing is written to disk; queues have no limit, since a full one drops messages.

    Brokers are linked by bridges at QoS 1.
    """

    name: str = "Mosquitto"
    window: int = 2048
    inflight: int = 0
    """Unacknowledged messages per subscriber and bridge; 0 is no limit."""

    def version(self) -> str:
        words = subprocess.run([_mosquitto(), "-h"], capture_output=True, text=True, check=False)
        return words.stdout.splitlines()[0].removeprefix("mosquitto version ")

    @contextmanager
    def chain(self, brokers: int) -> Iterator[MqttChain]:
        ports = free_ports(brokers)
        with started("mosquitto") as servers:
            # The last broker first: a bridge that finds nobody waits seconds before it tries again.
            for i in reversed(range(brokers)):
                configuration = servers.folder / f"{i}.conf"
                next_port = ports[i + 1] if i + 1 < brokers else None
                configuration.write_text(self._configuration(ports[i], next_port))
                servers.run([_mosquitto(), "-c", str(configuration)], ports[i])
            yield MqttChain(ports[0], ports[-1], self.window)

    def _configuration(self, port: int, next_port: int | None) -> str:
        lines = [
            # As root it would become another user, and so forget to end with us.
            f"user {getpass.getuser()}",
            f"listener {port} 127.0.0.1",
            "allow_anonymous true",
            "persistence false",
            "log_dest stderr",
            "log_type error",
            "max_queued_messages 0",
            f"max_inflight_messages {self.inflight}",
            "set_tcp_nodelay true",
        ]
        if next_port is not None:
            lines += [
                f"connection to-{next_port}",
                f"address 127.0.0.1:{next_port}",
                "topic bench out 1",
                "notifications false",
                "restart_timeout 1",
            ]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Amqtt:
    name: str = "amqtt"
    window: int = 256

    def version(self) -> str:
        try:
            return importlib.metadata.version("amqtt")
        except importlib.metadata.PackageNotFoundError as error:
            raise Unavailable("scripts/setup --bench") from error

    @contextmanager
    def chain(self, brokers: int) -> Iterator[MqttChain]:
        if brokers != 1:
            raise ValueError("amqtt has no links between brokers that we measure")
        (port,) = free_ports(1)
        with started("amqtt") as servers:
            configuration = servers.folder / "amqtt.yaml"
            # YAML reads JSON. Its default plugins would log every packet.
            plugins = {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}}
            listener = {"type": "tcp", "bind": f"127.0.0.1:{port}"}
            configuration.write_text(json.dumps({"listeners": {"default": listener}, "plugins": plugins}))
            program = str(Path(sys.executable).with_name("amqtt"))
            servers.run([program, "-c", str(configuration)], port)
            yield MqttChain(port, port, self.window)


def _mosquitto() -> str:
    # Debian puts servers where only root's PATH looks.
    found = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if not found:
        raise Unavailable("as root: apt-get install mosquitto mosquitto-clients")
    return found
