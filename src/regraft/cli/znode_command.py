"""`regraft znode`: shows the nodes that Regraft keeps in ZooKeeper, and deletes those that are corrupt.

Messages about a corrupt node name `regraft znode delete PATH` as the repair.
"""

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.help_headings import Group
from regraft.cli.zookeeper_options import Zookeeper, zookeeper_options
from regraft.model import BadInput

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from regraft.coord import Coord

KEPT = Path("out/znodes")


@click.group(cls=Group)
def znode() -> None:
    """Show, and repair, what Regraft keeps in ZooKeeper."""


@znode.command()
@click.argument("path", default="")
@zookeeper_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(path: str, zookeeper: Zookeeper, as_json: bool) -> None:
    """Print the node PATH and all below it.

    Without PATH, all that is Regraft's.

    \b
    Example:
      regraft znode show /regraft/topology --zookeeper 127.0.0.1:2181
    """
    path = _checked(path or zookeeper.layout.root)
    nodes = _run(zookeeper, lambda coord: _below(coord, path))
    if not nodes:
        raise BadInput(path, "does not exist")
    if as_json:
        click.echo(json.dumps({"nodes": nodes}))
        return
    for each in nodes:
        lives = "" if each["ephemeral_owner"] is None else f" (ephemeral, session {each['ephemeral_owner']})"
        click.echo(
            f"{each['path']} v{each['version']}{lives} {each.get('text', each.get('base64', ''))}".rstrip()
        )


@znode.command()
@click.argument("path")
@zookeeper_options
@click.option("--keep", type=click.Path(path_type=Path), metavar="FILE", help="Where to write the copy.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def delete(path: str, zookeeper: Zookeeper, keep: Path | None, as_json: bool) -> None:
    """Delete the node PATH and all below it; a copy is kept.

    \b
    Example:
      regraft znode delete /regraft/plan --zookeeper 127.0.0.1:2181
    """
    from regraft.model.files import write_text

    path = _checked(path)
    if path == "/":
        raise BadInput("/", "is the whole of ZooKeeper, not Regraft's")

    async def keep_and_delete(coord: "Coord") -> tuple[list[dict[str, Any]], Path]:
        nodes = await _below(coord, path)
        if not nodes:
            raise BadInput(path, "does not exist")
        file = keep or _free_name(path)
        write_text(file, json.dumps({"nodes": nodes}, indent=1) + "\n")
        await coord.delete(path, recursive=True)
        return nodes, file

    nodes, file = _run(zookeeper, keep_and_delete)
    if as_json:
        click.echo(json.dumps({"deleted": [each["path"] for each in nodes], "kept": str(file)}))
    else:
        click.echo(f"{path} and {len(nodes) - 1} below it deleted; a copy is in {file}")


def _run(zookeeper: Zookeeper, work: "Callable[[Coord], Awaitable[Any]]") -> Any:
    import asyncio

    from regraft.coord import Coord

    async def connected() -> Any:
        async with await Coord.open(zookeeper.needed()) as coord:
            return await work(coord)

    return asyncio.run(connected())


async def _below(coord: "Coord", path: str) -> list[dict[str, Any]]:
    """The node and all below it, depth first; empty if there is no such node."""
    node = await coord.get(path)
    if node is None:
        return []
    found: dict[str, Any] = {
        "path": path,
        "version": node.version,
        "ephemeral_owner": node.ephemeral_owner or None,
    }
    try:
        found["text"] = node.data.decode()
    except UnicodeDecodeError:
        found["base64"] = base64.b64encode(node.data).decode()
    nodes = [found]
    for child in await coord.children(path):
        nodes += await _below(coord, f"{path.rstrip('/')}/{child}")
    return nodes


def _checked(path: str) -> str:
    names = path.split("/")[1:]
    if not path.startswith("/") or (path != "/" and any(name in ("", ".", "..") for name in names)):
        raise BadInput(path or "PATH", "is not the path of a node, such as /regraft/plan")
    return path


def _free_name(path: str) -> Path:
    from urllib.parse import quote

    KEPT.mkdir(parents=True, exist_ok=True)
    name = quote(path.strip("/"), safe="")[:100]
    return next(file for n in range(1, 10**6) if not (file := KEPT / f"{name}-{n}.json").exists())
