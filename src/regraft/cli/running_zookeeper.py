"""Which ZooKeeper a command about a running overlay means: the one it is given, else that of `regraft up`."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from regraft.cli.zookeeper_options import Zookeeper
from regraft.model import BadInput

if TYPE_CHECKING:
    from regraft.coord import Configuration, Coord, Layout

T = TypeVar("T")


def found(zookeeper: Zookeeper, directory: Path) -> "tuple[Configuration, Layout]":
    """Where it is, and where in it our nodes are."""
    if zookeeper.configuration is not None:
        return zookeeper.configuration, zookeeper.layout
    from regraft.coord import Configuration, Layout

    document = _read(directory)
    hosts, root = document.get("zookeeper"), document.get("zookeeper_root", zookeeper.layout.root)
    if not isinstance(hosts, str) or not isinstance(root, str):
        raise BadInput(str(directory), "names no ZooKeeper: give --zookeeper HOST:PORT,...")
    return Configuration(hosts), Layout(root)


def _read(directory: Path) -> dict[str, Any]:
    from regraft.model.fields import an_object
    from regraft.model.files import as_text, parse_json, read_bytes

    if not directory.exists():
        raise BadInput("--zookeeper", f"is missing, and `regraft up` has not written {directory}")
    try:
        return an_object(parse_json(as_text(read_bytes(directory))), "")
    except BadInput as fault:
        raise fault.within(str(directory)) from None


def connected(zookeeper: Zookeeper, directory: Path, work: "Callable[[Coord, Layout], Awaitable[T]]") -> T:
    """Run the work on a connection. An ensemble that is not reachable, or holds garbage, is bad input."""
    from regraft.coord import Coord, CoordUnreachable, Corrupt

    configuration, layout = found(zookeeper, directory)

    async def run() -> T:
        try:
            coord = await Coord.open(configuration)
        except CoordUnreachable as fault:
            raise BadInput("", str(fault)) from None
        async with coord:
            try:
                return await work(coord, layout)
            except Corrupt as fault:
                raise BadInput("", str(fault)) from None

    return asyncio.run(run())
