"""RabbitMQ (a system package, Erlang): one node, or several joined by the federation plugin.

Every node federates the exchange `bench` from the node before it, with `ack-mode` `on-confirm`: a message
leaves a node when the next one has confirmed it. The nodes are no cluster. Messages are not persistent
and the queue is a classic one: the fastest setting that confirms.
"""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks._load import Load
from benchmarks._peers import Unavailable, free_ports, started

# The wrapper in the system's PATH wants to be root and to become another user; this one does not care.
SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")

SHARED_CORES = "+sbwt none +sbwtdcpu none +sbwtdio none"


@dataclass(frozen=True)
class AmqpChain:
    first: int
    last: int
    window: int

    def publisher(self, load: Load) -> Sequence[str]:
        return self._command("publish", self.first, load)

    def subscriber(self, load: Load) -> Sequence[str]:
        return self._command("subscribe", self.last, load)

    def _command(self, role: str, port: int, load: Load) -> Sequence[str]:
        words = replace(load, window=self.window).words()
        return [sys.executable, "-m", "benchmarks._load_amqp", role, str(port), *words]


@dataclass(frozen=True)
class RabbitMQ:
    name: str = "RabbitMQ"
    window: int = 2048
    prefetch: int = 1000
    """Of a federation link; the plugin's default."""

    def version(self) -> str:
        query = ["dpkg-query", "-W", "-f", "${Version}", "rabbitmq-server"]
        _server()
        return subprocess.run(query, capture_output=True, text=True, check=False).stdout or "unknown"

    @contextmanager
    def chain(self, brokers: int) -> Iterator[AmqpChain]:
        epmd_port, *ports = free_ports(1 + 2 * brokers)
        amqp, inner = ports[:brokers], ports[brokers:]
        with started("rabbitmq") as servers:
            epmd = shutil.which("epmd") or "/usr/bin/epmd"
            environment = _environment(servers.folder, epmd_port)
            if brokers > 1:
                # Nodes that share cores take them from each other by waiting busily.
                environment["RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS"] = SHARED_CORES
            # Erlang would start a name server that outlives everybody; it uses ours instead.
            servers.run([epmd, "-port", str(epmd_port), "-address", "127.0.0.1"], epmd_port, environment)
            for i in range(brokers):
                node = _Node(servers.folder / f"node{i}", amqp[i], inner[i])
                node.write(self._definitions(amqp[i - 1] if i else None, i == brokers - 1))
                servers.run([_server()], amqp[i], {**environment, **node.environment()})
            yield AmqpChain(amqp[0], amqp[-1], self.window)

    def _definitions(self, before: int | None, last: bool) -> dict[str, Any]:
        """The exchange; where it is federated from; on the last node the queue that it fills."""
        lasting = {"vhost": "/", "durable": True, "auto_delete": False, "arguments": {}}
        definitions: dict[str, Any] = {
            "vhosts": [{"name": "/"}],
            "users": [_guest()],
            "permissions": [{"user": "guest", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}],
            "exchanges": [{"name": "bench", "type": "fanout", "internal": False, **lasting}],
        }
        if last:
            to_queue = {"destination": "bench", "destination_type": "queue", "routing_key": ""}
            definitions["queues"] = [{"name": "bench", **lasting}]
            definitions["bindings"] = [{"source": "bench", "vhost": "/", "arguments": {}, **to_queue}]
        if before is not None:
            upstream = {
                "uri": f"amqp://guest:guest@127.0.0.1:{before}",
                "ack-mode": "on-confirm",
                "prefetch-count": self.prefetch,
                "max-hops": 8,
                "reconnect-delay": 1,
            }
            definitions["parameters"] = [
                {"vhost": "/", "component": "federation-upstream", "name": "before", "value": upstream}
            ]
            federated = {"pattern": "^bench$", "apply-to": "exchanges", "priority": 0}
            policy = {"name": "federate", "vhost": "/", "definition": {"federation-upstream-set": "all"}}
            definitions["policies"] = [{**policy, **federated}]
        return definitions


class _Node(NamedTuple):
    """One server: its folder, its port for clients, its port for Erlang's own talk."""

    folder: Path
    port: int
    inner: int

    def write(self, definitions: dict[str, Any]) -> None:
        self.folder.mkdir()
        (self.folder / "definitions.json").write_text(json.dumps(definitions))
        (self.folder / "enabled_plugins").write_text("[rabbitmq_federation].\n")
        (self.folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\n"
            f"load_definitions = {self.folder / 'definitions.json'}\n"
            f"cluster_name = {self.folder.name}\n"
            "log.file = false\nlog.console = true\nlog.console.level = error\n"
        )

    def environment(self) -> dict[str, str]:
        return {
            "RABBITMQ_NODENAME": f"regraft-bench-{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(self.inner),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "enabled_plugins"),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_PID_FILE": str(self.folder / "pid"),
        }


def _guest() -> dict[str, str]:
    salt = b"salt"
    digest = salt + hashlib.sha256(salt + b"guest").digest()
    return {
        "name": "guest",
        "password_hash": base64.b64encode(digest).decode(),
        "hashing_algorithm": "rabbit_password_hashing_sha256",
        "tags": "administrator",
    }


def _environment(folder: Path, epmd_port: int) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        # The Erlang cookie is written here.
        "HOME": str(folder),
        "ERL_EPMD_PORT": str(epmd_port),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        # The settings of an installed service are not ours.
        "RABBITMQ_CONF_ENV_FILE": os.devnull,
        "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "none.config"),
        # The start script becomes the server instead of watching it: its process id is the server's.
        "RUNNING_UNDER_SYSTEMD": "true",
    }


def _server() -> str:
    if not SERVER.exists():
        raise Unavailable("as root: apt-get install rabbitmq-server")
    return str(SERVER)
