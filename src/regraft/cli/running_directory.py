"""The file in which `regraft up` says where its brokers and its ZooKeeper are.

`regraft pub` and `sub` read the brokers; commands about a running overlay read which ZooKeeper it uses,
unless they are given one.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from regraft.cli.zookeeper_options import Zookeeper
from regraft.model import BadInput

if TYPE_CHECKING:
    from regraft.coord import Configuration, Coord, Layout

T = TypeVar("T")
DEFAULT = Path("out/overlay.json")


def directory_option(help: str) -> Callable[[Any], Any]:
    return click.option(
        "--directory",
        type=click.Path(path_type=Path),
        default=DEFAULT,
        show_default=True,
        metavar="FILE",
        help=help,
    )


WHICH_ZOOKEEPER = directory_option("Where `regraft up` says which ZooKeeper it uses.")


def document(rows: Mapping[str, Mapping[str, object]], zookeeper: Mapping[str, str]) -> str:
    """The text of the file. `zookeeper`: for the commands that change links; empty if links cannot change."""
    return json.dumps({"brokers": rows, **zookeeper}, indent=1) + "\n"


def ensemble_of(zookeeper: Zookeeper, directory: Path) -> "tuple[Configuration, Layout]":
    """The ensemble that the command was given, else that of `regraft up`; and where our nodes are in it."""
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
    """Connect and run the work. An ensemble that cannot be reached, or holds corrupt nodes, is bad input."""
    import asyncio

    from regraft.coord import Coord, CoordUnreachable, Corrupt

    configuration, layout = ensemble_of(zookeeper, directory)

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
