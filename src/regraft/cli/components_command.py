"""`regraft components`: keys and bundles of application components, where they run, and orders to them."""

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from regraft.cli.help_headings import Group, advanced
from regraft.cli.running_directory import WHICH_ZOOKEEPER, connected
from regraft.cli.zookeeper_options import Zookeeper, zookeeper_options
from regraft.model import BadInput, RegraftError

if TYPE_CHECKING:
    from regraft.components.caller import Calls
    from regraft.components.messages import Order
    from regraft.coord import Coord, Layout

T = TypeVar("T")
FILE = click.Path(path_type=Path)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group(cls=Group)
def components() -> None:
    """Run application components beside brokers, and move them.

    A component is a process that moves with its code and its state.

    The variables REGRAFT_COMPONENTS_TOKEN, _CERTIFICATE, _KEY, _AUTHORITY and _ID (the name in the
    certificate) are the caller's credentials for the hosts.

    \b
    Examples:
      regraft components key me.pem
      regraft components pack examples/components/chat --key me.pem -o chat.zip
      regraft components create chat chat.zip --at b1
      regraft components call chat join ann
      regraft components list
    """


@components.command()
@click.argument("file", type=FILE)
@JSON
def key(file: Path, as_json: bool) -> None:
    """Make a key that signs bundles.

    FILE is the key, FILE.pub is for the trusted folders of hosts.

    \b
    Example:
      regraft components key me.pem
    """
    from regraft.components.signing import make_key

    public = make_key(file)
    _say({"key": str(file), "public": str(public)}, f"{file} and {public}", as_json)


@components.command()
@click.argument("folder", type=FILE)
@click.option("--key", "key_file", type=FILE, required=True, help="The key that signs it.")
@click.option("-o", "--out", type=FILE, required=True, help="The bundle.")
@JSON
def pack(folder: Path, key_file: Path, out: Path, as_json: bool) -> None:
    """Make a signed bundle of a folder that has a manifest.json.

    \b
    Example:
      regraft components pack examples/components/chat --key me.pem -o chat.zip
    """
    from regraft.components.bundle import folder_files
    from regraft.components.signing import private_key, signed_bundle

    data = signed_bundle(folder_files(folder), private_key(key_file), str(folder))
    try:
        out.write_bytes(data)
    except OSError as fault:
        raise BadInput(str(out), f"cannot be written: {fault.strerror}") from None
    _describe(data, out, as_json)


@components.command()
@click.argument("bundle", type=FILE)
@click.option("--trusted", type=FILE, required=True, help="Folder of public keys (*.pub).")
@JSON
def verify(bundle: Path, trusted: Path, as_json: bool) -> None:
    """Check a bundle as a host does: signature, content, manifest.

    \b
    Example:
      regraft components verify chat.zip --trusted trusted
    """
    from regraft.components.signing import Trust

    data = _read(bundle)
    Trust(trusted).opened(data, str(bundle))
    _describe(data, bundle, as_json)


def _read(path: Path) -> bytes:
    from regraft.model.files import read_bytes

    return read_bytes(path)


def _describe(data: bytes, path: Path, as_json: bool) -> None:
    import msgspec

    from regraft.components.bundle import read_bundle

    bundle = read_bundle(data, str(path))
    manifest = bundle.manifest
    content = {
        "bundle": str(path),
        "sha256": bundle.sha256,
        "bytes": len(data),
        "files": sorted(bundle.files),
        "manifest": msgspec.to_builtins(manifest),
    }
    text = (
        f"{manifest.name} {manifest.version}, {len(bundle.files)} files, {len(data)} bytes, {bundle.sha256}"
    )
    _say(content, text, as_json)


@components.command("list")
@zookeeper_options
@WHICH_ZOOKEEPER
@JSON
def list_(zookeeper: Zookeeper, directory: Path, as_json: bool) -> None:
    """List all components and the places that own them.

    \b
    Example:
      regraft components list
    """
    from rich.table import Table

    from regraft.cli.printing import console, shown

    entries = connected(zookeeper, directory, _entries)
    if as_json:
        click.echo(json.dumps({"components": entries}))
        return
    table = Table("component", "place", "clone of", "bundle", box=None, pad_edge=False)
    for each in entries:
        table.add_row(*map(shown, (each["name"], each["place"], each["origin"] or "-", each["bundle"][:12])))
    console().print(table)
    click.echo(f"{len(entries)} components")


async def _entries(coord: "Coord", layout: "Layout") -> list[dict[str, Any]]:
    import msgspec

    from regraft.components.directory import ZookeeperDirectory

    found = await ZookeeperDirectory(coord, layout).all()
    return [msgspec.to_builtins(entry) for _, entry in sorted(found.items())]


@components.command()
@click.argument("name")
@click.argument("bundle", type=FILE)
@click.option("--at", required=True, metavar="BROKER", help="Where it starts.")
@click.option("--state", type=FILE, help="Its first state: a JSON object.")
@zookeeper_options
@WHICH_ZOOKEEPER
@JSON
def create(
    name: str, bundle: Path, at: str, state: Path | None, zookeeper: Zookeeper, directory: Path, as_json: bool
) -> None:
    """Start a component from a bundle, beside a broker.

    \b
    Example:
      regraft components create chat chat.zip --at b1
    """
    import msgspec

    from regraft.components.messages import Order
    from regraft.model.fields import an_object
    from regraft.model.files import as_text, parse_json

    cells = {}
    if state is not None:
        try:
            given = an_object(parse_json(as_text(_read(state))), "")
        except BadInput as fault:
            raise fault.within(str(state)) from None
        cells = {field: msgspec.msgpack.encode(value) for field, value in given.items()}
    order = Order(number=0, kind="create", name=name, data=_read(bundle), state=cells)
    _order(at, order, zookeeper, directory)
    _say({"component": name, "place": at}, f"{name} is at {at}", as_json)


@components.command()
@click.argument("name")
@click.argument("target", metavar="BROKER")
@zookeeper_options
@WHICH_ZOOKEEPER
@JSON
def migrate(name: str, target: str, zookeeper: Zookeeper, directory: Path, as_json: bool) -> None:
    """Move a component to another broker, with code and state.

    \b
    Example:
      regraft components migrate chat b2
    """
    from regraft.components.messages import Order

    order = Order(number=0, kind="migrate", name=name, target=target)
    seconds = _order("", order, zookeeper, directory)
    ms = round(1000 * seconds, 1)
    _say({"component": name, "place": target, "ms": ms}, f"{name} is at {target}: {ms} ms", as_json)


@components.command()
@click.argument("name")
@click.argument("target", metavar="BROKER")
@click.option("--as", "name_there", metavar="NAME", help="Name of the clone.  [default: NAME@BROKER]")
@zookeeper_options
@WHICH_ZOOKEEPER
@JSON
def clone(
    name: str, target: str, name_there: str | None, zookeeper: Zookeeper, directory: Path, as_json: bool
) -> None:
    """Duplicate a component, with code and state, at a broker.

    \b
    Example:
      regraft components clone chat b2 --as chat2
    """
    from regraft.components.intents import clone_name
    from regraft.components.messages import Order

    there = name_there or clone_name(name, target)
    _order(
        "", Order(number=0, kind="clone", name=name, target=target, name_there=there), zookeeper, directory
    )
    _say({"component": there, "place": target, "origin": name}, f"{there} is at {target}", as_json)


@components.command()
@click.argument("name")
@zookeeper_options
@WHICH_ZOOKEEPER
@JSON
def terminate(name: str, zookeeper: Zookeeper, directory: Path, as_json: bool) -> None:
    """End a component; its state is forgotten.

    \b
    Example:
      regraft components terminate chat
    """
    from regraft.components.messages import Order

    _order("", Order(number=0, kind="terminate", name=name), zookeeper, directory)
    _say({"component": name}, f"{name} has ended", as_json)


@components.command()
@click.argument("name")
@click.argument("method")
@click.argument("arguments", nargs=-1)
@click.option(
    "--patience",
    type=click.FloatRange(0.1, 3600),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for an answer, also while the component moves.",
    **advanced(),
)
@zookeeper_options
@WHICH_ZOOKEEPER
@JSON
def call(
    name: str,
    method: str,
    arguments: tuple[str, ...],
    patience: float,
    zookeeper: Zookeeper,
    directory: Path,
    as_json: bool,
) -> None:
    """Call a method of a component, wherever it is. Arguments that are not JSON are text.

    \b
    Example:
      regraft components call chat say ann hello
    """
    given = [_argument(each) for each in arguments]

    async def work(calls: "Calls") -> Any:
        return await calls.call(name, method, *given, patience=patience)

    value = _with_calls(zookeeper, directory, work)
    text = json.dumps(value, default=lambda other: other.hex() if isinstance(other, bytes) else str(other))
    click.echo(f'{{"value": {text}}}' if as_json else text)


def _argument(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _order(at: str, order: "Order", zookeeper: Zookeeper, directory: Path) -> float:
    """Sends the order to the host at `at`, else to the component's owner; the seconds it took there."""

    async def work(calls: "Calls") -> float:
        place = at
        if not place:
            found = await calls.directory.find(order.name)
            if found is None:
                raise BadInput(order.name, "no component has this name")
            place = found.entry.place
        if await calls.directory.address(place) is None:
            raise BadInput(place, "no component host is running there")
        if order.target and await calls.directory.address(order.target) is None:
            raise BadInput(order.target, "no component host is running there")
        ended = await calls.order(place, order)
        if ended is None:
            raise RegraftError(f"{place} does not answer")
        if ended.refused:
            raise BadInput("", ended.refused)
        return ended.seconds

    return _with_calls(zookeeper, directory, work)


def _with_calls(zookeeper: Zookeeper, directory: Path, work: "Callable[[Calls], Awaitable[T]]") -> T:

    async def run(coord: "Coord", layout: "Layout") -> T:
        from regraft.components.caller import Calls
        from regraft.components.directory import ZookeeperDirectory

        async with Calls.from_environment(ZookeeperDirectory(coord, layout), os.environ) as calls:
            return await work(calls)

    return connected(zookeeper, directory, run)


def _say(content: dict[str, Any], text: str, as_json: bool) -> None:
    click.echo(json.dumps(content) if as_json else text)
