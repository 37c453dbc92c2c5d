"""Hosts of components over a ZooKeeper."""

import contextlib
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from regraft.components.caller import Calls
from regraft.components.directory import ZookeeperDirectory
from regraft.components.host import ComponentHost
from regraft.components.network import Security
from regraft.components.signing import make_key, private_key, signed_bundle
from regraft.coord import Coord, Layout

PROBE = Path(__file__).with_name("probe_component.py").read_bytes()


class Site:
    """A folder of keys and hosts, and a root of its own in ZooKeeper."""

    def __init__(self, hosts: str, folder: Path) -> None:
        self.zookeeper, self.folder = hosts, folder
        self.root = f"/test-{uuid.uuid4().hex}"
        self.trusted = folder / "trusted"
        self.trusted.mkdir()
        make_key(folder / "key")
        (folder / "key.pub").rename(self.trusted / "key.pub")

    def bundle(self, files: dict[str, bytes] | None = None, **limits: float) -> bytes:
        """The probe, unless other files are given."""
        manifest = {"name": "probe", "version": "1", "entry": "probe:Probe", "limits": limits}
        content = {"manifest.json": json.dumps(manifest).encode(), "probe.py": PROBE, **(files or {})}
        return signed_bundle(content, private_key(self.folder / "key"), "probe")

    @contextlib.asynccontextmanager
    async def directory(self) -> AsyncIterator[ZookeeperDirectory]:
        async with await Coord.connect(self.zookeeper) as coord:
            yield ZookeeperDirectory(coord, Layout(self.root))

    @contextlib.asynccontextmanager
    async def hosts(self, number: int = 2, **options: Any) -> AsyncIterator[list[ComponentHost]]:
        """h1, h2 … each with a connection of its own."""
        async with contextlib.AsyncExitStack() as stack:
            found = []
            for i in range(1, number + 1):
                directory = await stack.enter_async_context(self.directory())
                host = ComponentHost(f"h{i}", self.folder / f"h{i}", self.trusted, directory, **options)
                found.append(await stack.enter_async_context(host))
            yield found

    @contextlib.asynccontextmanager
    async def calls(self, security: Security | None = None, me: str = "") -> AsyncIterator[Calls]:
        async with self.directory() as directory, Calls.open(directory, security, me) as calls:
            yield calls


@pytest.fixture
def site(hosts: str, tmp_path: Path) -> Site:
    return Site(hosts, tmp_path)
